"""The NVIDIA target: compiles kernels to PTX and cubins for one architecture, as in `nvptx:sm_90a`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from triptych.objectstage.exports import DeviceCode, Export
from triptych.objectstage.target import HOST, Target, TargetFamily, find_target
from triptych.stages import Compiled
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
        pipeline=lambda: pipeline(architecture),
        before_split=before_split(architecture),
        entry_symbol=lambda function: function,
        codegen=lambda lowered, options: codegen(lowered, options, architecture),
        load=load,
        start=start,
        info=toolchain,
        device_model=DeviceModel(lanes=WARP, assembly="ptx"),
        line_tables=LINE_TABLES,
        export=lambda compiled, wanted: _export(compiled, wanted, name),
    )


def _export(compiled: Compiled, wanted: Export, architecture: str) -> Mapping[str, bytes]:
    """The host program as the host's target exports it, with the cubin in it."""
    host = find_target(HOST)
    assert compiled.host is not None, "the object-stage has split the program"
    assert host.export is not None, "the target of hosts exports"
    code = DeviceCode(f"nvptx:{architecture}", compiled.artifact, compiled.lowered.kernels)
    return host.export(compiled.host(), replace(wanted, device=code))


TARGET = TargetFamily("nvptx", tuple(ARCHITECTURES), _for)
