"""The CPU target: compiles for the machine it runs on and calls the code in this process."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from triptych.objectstage.exports import Export
from triptych.objectstage.target import Target
from triptych.stages import Compiled, PassSpec
from triptych.targets.cpu.calling.abi import entry_symbol
from triptych.targets.cpu.calling.loader import load
from triptych.targets.cpu.code_generation import codegen, freeze, start, thaw
from triptych.targets.cpu.host import host_info


def _pipeline() -> tuple[PassSpec, ...]:
    passes: tuple[PassSpec, ...] = importlib.import_module("triptych.targets.cpu.pipeline").PIPELINE
    return passes


def _export(compiled: Compiled, wanted: Export) -> Mapping[str, bytes]:
    files: Mapping[str, bytes] = importlib.import_module("triptych.targets.cpu.exporting.export").export(
        compiled, wanted
    )
    return files


TARGET = Target(
    name="cpu",
    pipeline=_pipeline,
    entry_symbol=entry_symbol,
    codegen=codegen,
    load=load,
    start=start,
    info=host_info,
    freeze=freeze,
    thaw=thaw,
    export=_export,
)
