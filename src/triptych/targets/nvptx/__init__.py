"""The NVIDIA target: compiles kernels to PTX and cubins for one architecture, as in `nvptx:sm_90a`."""

from __future__ import annotations

from functools import cache

from triptych.objectstage.target import Target, TargetFamily
from triptych.support.device_model import DeviceModel
from triptych.targets.nvptx.architectures import ARCHITECTURES, WARP
from triptych.targets.nvptx.code_generation import codegen, start, toolchain
from triptych.targets.nvptx.pipeline import LINE_TABLES, before_split, pipeline
from triptych.targets.nvptx.runtime.loader import load


@cache
def _for(name: str) -> Target:
    architecture = ARCHITECTURES[name]
    return Target(
        name=f"nvptx:{name}",
        pipeline=pipeline(architecture),
        before_split=before_split(architecture),
        entry_symbol=lambda function: function,
        codegen=lambda lowered, options: codegen(lowered, options, architecture),
        load=load,
        start=start,
        info=toolchain,
        device_model=DeviceModel(lanes=WARP, assembly="ptx"),
        line_tables=LINE_TABLES,
    )


TARGET = TargetFamily("nvptx", tuple(ARCHITECTURES), _for)
