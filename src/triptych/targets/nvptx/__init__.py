"""The NVIDIA target: compiles kernels to PTX and cubins for one architecture, as in `nvptx:sm_90a`."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from triptych.ir.worker import shared_pool
from triptych.objectstage.target import Target, TargetFamily
from triptych.support.device_model import DeviceModel
from triptych.support.forking import import_late
from triptych.targets.nvptx.architectures import ARCHITECTURES, WARP
from triptych.targets.nvptx.kept_code import freeze, thaw
from triptych.targets.nvptx.runtime.loader import load
from triptych.targets.nvptx.toolchain.assembling import toolchain


def _passes() -> ModuleType:
    return import_late("triptych.targets.nvptx.pipeline")


def _generator() -> ModuleType:
    return import_late("triptych.targets.nvptx.code_generation")


@cache
def _for(name: str) -> Target:
    architecture = ARCHITECTURES[name]
    return Target(
        name=f"nvptx:{name}",
        pipeline=lambda: _passes().pipeline(architecture),
        before_split=lambda: _passes().before_split(architecture),
        entry_symbol=lambda function: function,
        codegen=lambda lowered, options: _generator().codegen(lowered, options, architecture),
        load=load,
        start=lambda: shared_pool().start(),
        info=toolchain,
        freeze=freeze,
        thaw=lambda lowered, frozen, options, again: thaw(lowered, frozen, options, architecture),
        device_model=DeviceModel(lanes=WARP, assembly="ptx"),
        line_tables=lambda: _passes().LINE_TABLES,
    )


TARGET = TargetFamily("nvptx", tuple(ARCHITECTURES), _for)
