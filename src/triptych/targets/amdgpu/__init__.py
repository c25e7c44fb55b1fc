"""The AMD target: compiles kernels to code objects for one chip, as in `amdgpu:gfx942`. None has run on a card.

The warps of a program are the waves of the chip, which on gfx9 have 64 lanes. Programs that count on 32 take
`amdgpu:gfx942:32`: there two warps share a wave.
"""

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


_HALVED = ":32"
"""Behind the name of a chip with waves of 64: its warps are halves of waves."""


@cache
def _for(name: str) -> Target:
    chip = CHIPS[name.removesuffix(_HALVED)]
    lanes = 32 if name.endswith(_HALVED) else chip.lanes
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
        device_model=DeviceModel(lanes=lanes, shared_bytes=chip.shared),
    )


_NAMES = (*CHIPS, *(f"{name}{_HALVED}" for name, chip in CHIPS.items() if chip.lanes > 32))
TARGET = TargetFamily("amdgpu", _NAMES, _for)
