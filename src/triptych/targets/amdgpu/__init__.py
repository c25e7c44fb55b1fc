"""The AMD target: compiles kernels to code objects for one chip, as in `amdgpu:gfx942`. None has run on a card."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from triptych.ir.llvm.worker import shared_pool
from triptych.objectstage.target import Target, TargetFamily
from triptych.support.device_model import DeviceModel
from triptych.support.forking import import_late
from triptych.targets.amdgpu.description.chips import CHIPS

ROCM = 10
"""DLPack's number of the memory of an AMD GPU."""


def _part(name: str) -> ModuleType:
    """Loaded when code is made or run."""
    return import_late(f"triptych.targets.amdgpu.{name}")


@cache
def _for(name: str) -> Target:
    chip = CHIPS[name]
    return Target(
        name=f"amdgpu:{name}",
        pipeline=lambda: _part("pipeline").pipeline(chip),
        before_split=lambda: _part("pipeline").before_split(chip),
        entry_symbol=lambda function: function,
        codegen=lambda lowered, options: _part("code_generation").codegen(lowered, options, chip),
        load=lambda compiled: _part("runtime.loader").load(compiled),
        start=lambda: shared_pool().start(),
        info=dict,
        serialize=lambda compiled: _part("code_generation").serialize(compiled),
        deserialize=lambda lowered, frozen, options, again: _part("code_generation").deserialize(
            lowered, frozen, options, chip
        ),
        devices=(ROCM,),
        device_model=DeviceModel(lanes=chip.lanes, shared_bytes=chip.shared),
    )


TARGET = TargetFamily("amdgpu", tuple(CHIPS), _for)
