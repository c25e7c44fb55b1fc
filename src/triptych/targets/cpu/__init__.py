"""The CPU target: compiles for the machine it runs on and calls the code in this process."""

from __future__ import annotations

from triptych.objectstage.target import Target
from triptych.targets.cpu.calling.abi import entry_symbol
from triptych.targets.cpu.calling.loader import load
from triptych.targets.cpu.code_generation import codegen, host_info, start
from triptych.targets.cpu.pipeline import PIPELINE

TARGET = Target(
    name="cpu",
    pipeline=PIPELINE,
    entry_symbol=entry_symbol,
    codegen=codegen,
    load=load,
    start=start,
    info=host_info,
)
