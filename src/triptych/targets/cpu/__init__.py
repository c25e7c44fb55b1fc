"""The CPU target: compiles for the machine it runs on and calls the code in this process."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import replace

from triptych.objectstage.exports import Export
from triptych.objectstage.target import Target
from triptych.stages import Compiled, PassSpec
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

TARGET = replace(_PORTABLE, codegen=codegen, info=host_info, portable=_PORTABLE)
