"""The SPIR-V target: compiles kernels for OpenCL devices that share the memory of the host, as `spirv`.

It is here as a judge: the compiler and the runtime behind SPIR-V are nobody's who wrote the other targets, so a mistake
in what an operation means shows as a difference. It runs plain kernels, on one OpenCL CPU runtime that pip installs.
"""

from __future__ import annotations

from types import ModuleType

from triptych.interop.dlpack import CPU_DEVICES
from triptych.ir.llvm.worker import shared_pool
from triptych.objectstage.target import Target
from triptych.support.device_model import DeviceModel
from triptych.support.forking import import_late

LANES = 32
"""Lanes of a sub-group, which every kernel asks for."""


def _part(name: str) -> ModuleType:
    """Loaded when code is made or run."""
    return import_late(f"triptych.targets.spirv.{name}")


TARGET = Target(
    name="spirv",
    pipeline=lambda: _part("pipeline").PIPELINE,
    before_split=lambda: _part("pipeline").BEFORE_SPLIT,
    entry_symbol=lambda function: function,
    codegen=lambda lowered, options: _part("code_generation").codegen(lowered, options),
    load=lambda compiled: _part("runtime.loader").load(compiled),
    start=lambda: shared_pool().start(),
    info=lambda: {"spirv": "1.4"},
    serialize=lambda compiled: _part("code_generation").serialize(compiled),
    deserialize=lambda lowered, frozen, options, again: _part("code_generation").deserialize(lowered, frozen, options),
    devices=CPU_DEVICES,
    device_model=DeviceModel(lanes=LANES),
)
