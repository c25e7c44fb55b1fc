"""The CPU target: compiles for the machine it runs on and calls the code in this process."""

from __future__ import annotations

import importlib
from dataclasses import replace

from triptych.objectstage.target import Target
from triptych.stages import PassSpec
from triptych.targets.cpu.calling.abi import entry_symbol
from triptych.targets.cpu.calling.loader import load
from triptych.targets.cpu.code_generation import ANY_MACHINE, codegen, freeze, start, thaw
from triptych.targets.cpu.host import host_info, kind_of_machine


def _pipeline() -> tuple[PassSpec, ...]:
    passes: tuple[PassSpec, ...] = importlib.import_module("triptych.targets.cpu.pipeline").PIPELINE
    return passes


_PORTABLE = Target(
    name="cpu",
    pipeline=_pipeline,
    entry_symbol=entry_symbol,
    codegen=lambda lowered, options: codegen(lowered, options, ANY_MACHINE),
    load=load,
    start=start,
    info=kind_of_machine,
    freeze=freeze,
    thaw=thaw,
)

TARGET = replace(_PORTABLE, codegen=codegen, info=host_info, portable=_PORTABLE)
