"""The CPU target: compiles for the machine it runs on and calls the code in this process."""

from __future__ import annotations

import importlib

from triptych.objectstage.target import Target
from triptych.stages import PassSpec
from triptych.targets.cpu.calling.abi import entry_symbol
from triptych.targets.cpu.calling.loader import load
from triptych.targets.cpu.code_generation import codegen, freeze, start, thaw
from triptych.targets.cpu.host import host_info


def _pipeline() -> tuple[PassSpec, ...]:
    passes: tuple[PassSpec, ...] = importlib.import_module("triptych.targets.cpu.pipeline").PIPELINE
    return passes


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
)
