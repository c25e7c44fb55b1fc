"""The NVIDIA target: compiles kernels to PTX and cubins for one architecture, as in `nvptx:sm_90a`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import ModuleType

from triptych.ir.llvm.worker import shared_pool
from triptych.objectstage.exports import DeviceCode, Export
from triptych.objectstage.lower import LINE_TABLES
from triptych.objectstage.target import Target, TargetFamily, host_target
from triptych.stages import Compiled
from triptych.support.device_model import DeviceModel
from triptych.support.forking import import_late
from triptych.targets.nvptx.description.architectures import ARCHITECTURES, WARP
from triptych.targets.nvptx.serialized_kernels import deserialize, serialize


def _part(name: str) -> ModuleType:
    """Loaded when code is made or run: programs for the CPU ask this package for limits of GPUs only."""
    return import_late(f"triptych.targets.nvptx.{name}")


def _passes() -> ModuleType:
    return _part("pipeline")


@cache
def _for(name: str) -> Target:
    architecture = ARCHITECTURES[name]
    return Target(
        name=f"nvptx:{name}",
        pipeline=lambda: _passes().pipeline(architecture),
        before_split=lambda: _passes().before_split(architecture),
        entry_symbol=lambda function: function,
        codegen=lambda lowered, options: _part("code_generation").codegen(lowered, options, architecture),
        load=lambda compiled: _part("runtime.loader").load(compiled),
        start=lambda: shared_pool().start(),
        info=lambda: _part("toolchain.assembling").toolchain(),
        serialize=serialize,
        deserialize=lambda lowered, frozen, options, again: deserialize(lowered, frozen, options, architecture),
        device_model=DeviceModel(lanes=WARP, assembly="ptx"),
        export=lambda compiled, wanted: _export(compiled, wanted, name),
        line_tables=lambda: LINE_TABLES,
    )


def _export(compiled: Compiled, wanted: Export, architecture: str) -> Mapping[str, bytes]:
    """The host program as the host's target exports it, with the cubin in it."""
    host = host_target()
    assert compiled.host is not None, "the object-stage has split the program"
    assert host.export is not None, "the target of hosts exports"
    code = DeviceCode(f"nvptx:{architecture}", compiled.artifact, compiled.lowered.kernels)
    return host.export(compiled.host(), replace(wanted, device=code))


TARGET = TargetFamily("nvptx", tuple(ARCHITECTURES), _for)
