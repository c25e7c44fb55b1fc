"""Calls of compiled functions, run on the GPU made of NumPy, which counts.

Input: a program that is called as ever. Output: a `Counting`. Of each launch some blocks run, so what the program
computes is not whole: what it does with results is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from typing import Any

from triptych.driver.listeners import COMPILE_LISTENERS
from triptych.ptxsim.counting import Counting
from triptych.ptxsim.driver import NumpyDriver
from triptych.stages import Compiled, Loaded
from triptych.support.config import config, override
from triptych.targets.nvptx.description.errors import DriverError
from triptych.targets.nvptx.report.usage import Usage
from triptych.targets.nvptx.runtime.driver import Driver
from triptych.targets.nvptx.runtime.loader import Program
from triptych.targets.nvptx.toolchain.assembling import has_assembler
from triptych.workbench.costs.machine_memory import on_machine

_RUNS: list[CostRun] = []
"""The one that counts now, last."""


class CostRun:
    """One program, counted."""

    def __init__(self, architecture: str, counting: Counting) -> None:
        self.architecture = architecture
        self.counting = counting
        self.library = NumpyDriver(counting=counting)
        self.compiled: list[Compiled] = []
        self.calls = 0

    def usage(self) -> dict[str, Usage]:
        """What the assembler says of the kernels; nothing where there is none."""
        found: dict[str, Usage] = {}
        for compiled in self.compiled:
            found |= compiled.views["usage"]()
        return found

    def call(self, program: Program, args: Sequence[Any], stream: object) -> Any:
        """One call, with its tensors in the memory of the machine."""
        self.calls += 1
        places = [i for i, leaf in enumerate(program.parameters) if leaf.memory is not None]
        given = list(args)
        with on_machine(self.library.gpu, [args[i] for i in places]) as moved:
            for i, view in zip(places, moved, strict=True):
                given[i] = view
            try:
                return program.call(given, stream)
            except DriverError:
                error, self.library.error = self.library.error, None
                if error is None:
                    raise
                raise error from None


@contextmanager
def counted(
    architecture: str, choose: Callable[[int], Sequence[int]] = range, *, keeps_requests: bool = False
) -> Iterator[CostRun]:
    """Inside, compiled functions run here, and are counted."""
    run = CostRun(architecture, Counting(choose, keeps_requests=keeps_requests))
    assembler = config().assembler if has_assembler() else "driver"
    _RUNS.append(run)
    COMPILE_LISTENERS.append(_watch)
    try:
        with override(target=f"nvptx:{architecture}", line_info=True, assembler=assembler, performance_warnings=False):
            yield run
    finally:
        COMPILE_LISTENERS.remove(_watch)
        _RUNS.remove(run)


def _watch(loaded: Loaded) -> Loaded:
    """Programs for a GPU are called through the run that is the last when they are called."""
    if "ptx" not in loaded.compiled.views:
        return loaded
    _RUNS[-1].compiled.append(loaded.compiled)
    return replace(
        loaded, call=partial(_call, cache(partial(_program, loaded.compiled)), loaded), attempt=None, reads=None
    )


def _program(compiled: Compiled, library: NumpyDriver) -> Program:
    library.knows(compiled.artifact, compiled.views["ptx"]())
    return Program(compiled, Driver(library))


def _call(program: Callable[[NumpyDriver], Program], loaded: Loaded, *args: Any, stream: object = None) -> Any:
    if not _RUNS:
        return loaded.call(*args, stream=stream)
    return _RUNS[-1].call(program(_RUNS[-1].library), args, stream)
