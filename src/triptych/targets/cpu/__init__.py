"""The CPU target: compiles for the machine it runs on and calls the code in this process.

`cpu` is a machine with the lanes of NVIDIA's GPUs. `cpu:64` is the same with warps of 64 threads, as AMD's waves are:
there kernels run whose matrix instructions take 64.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from triptych.objectstage.exports import Export
from triptych.objectstage.target import Target, TargetFamily
from triptych.stages import Compiled, PassSpec
from triptych.support.device_model import DeviceModel
from triptych.targets.cpu.abi.abi import entry_symbol
from triptych.targets.cpu.abi.system import host_info, kind_of_machine
from triptych.targets.cpu.code_generation import ANY_MACHINE, codegen, deserialize, serialize, start
from triptych.targets.cpu.loader import load


def _pipeline() -> tuple[PassSpec, ...]:
    passes: tuple[PassSpec, ...] = importlib.import_module("triptych.targets.cpu.pipeline").PIPELINE
    return passes


def _export(compiled: Compiled, wanted: Export) -> Mapping[str, bytes]:
    files: Mapping[str, bytes] = importlib.import_module("triptych.targets.cpu.export.export").export(compiled, wanted)
    return files


_PORTABLE = Target(
    name="cpu",
    pipeline=_pipeline,
    entry_symbol=entry_symbol,
    codegen=lambda lowered, options: codegen(lowered, options, ANY_MACHINE),
    load=load,
    start=start,
    info=kind_of_machine,
    serialize=serialize,
    deserialize=deserialize,
    export=_export,
    stops=True,
    checks=True,
)

_USUAL = replace(_PORTABLE, codegen=codegen, info=host_info, portable=_PORTABLE)


@cache
def _with_lanes(lanes: str) -> Target:
    name, model = f"cpu:{lanes}", DeviceModel(lanes=int(lanes))
    portable = replace(_PORTABLE, name=name, device_model=model)
    return replace(_USUAL, name=name, device_model=model, portable=portable)


TARGET = TargetFamily("cpu", ("64",), _with_lanes, usual=_USUAL)
