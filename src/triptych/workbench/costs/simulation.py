"""Simulation of compiled calls on the PTX simulator, which counts.

Input: a program that is called as ever. Output: a `Counting`. Of each launch some blocks run, so what the program
computes is not whole: what it does with results is not looked at.

Tensors of a call are copied to the memory of the simulated GPU and back. They are placed as a GPU's allocator places
them, at multiples of 256 bytes: where a library of the CPU has put an array says nothing of how many sectors a kernel
will touch. A part of an array stays as far from its array's begin as it is.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from typing import Any

from triptych.driver.listeners import COMPILE_LISTENERS
from triptych.interop.dlpack import ELEMENT_CODES, GPU, tensor_facts
from triptych.interop.tensor_views import TensorView, passing_view
from triptych.objectstage.device_errors import DriverError
from triptych.ptxsim.counting import Counting
from triptych.ptxsim.driver import NumpyDriver
from triptych.ptxsim.machine import Gpu
from triptych.ptxsim.memory import Room
from triptych.stages import Compiled, Loaded
from triptych.support.config import config, override
from triptych.support.dataclass import dataclass
from triptych.targets.nvptx.report.usage import Usage
from triptych.targets.nvptx.runtime.driver import Driver
from triptych.targets.nvptx.runtime.loader import Program
from triptych.targets.nvptx.toolchain.assembling import has_assembler

_ALIGNMENT = 256


@dataclass(slots=True)
class _MemoryRange:
    """Memory of the CPU that tensors share, from its first byte to behind its last."""

    start: int
    end: int
    room: Room | None = None
    is_written: bool = False


@contextmanager
def on_machine(gpu: Gpu, tensors: Sequence[Any]) -> Iterator[list[TensorView]]:
    """Views of the tensors' copies; what kernels change is copied back."""
    views = [passing_view(tensor) for tensor in tensors]
    ranges = _ranges(tensors, views)
    for each in ranges:
        each.room = gpu.memory.allocate(max(each.end - each.start, 1))
        ctypes.memmove(each.room.bytes.ctypes.data, each.start, each.end - each.start)
    try:
        yield [_moved(view, ranges) for view in views]
        for each in ranges:
            if each.room is not None and each.is_written:
                ctypes.memmove(each.start, each.room.bytes.ctypes.data, each.end - each.start)
    finally:
        for each in ranges:
            if each.room is not None:
                gpu.memory.free(each.room.base)


def _ranges(tensors: Sequence[Any], views: Sequence[TensorView]) -> list[_MemoryRange]:
    """Tensors that overlap are in one; each begins where its allocation does, as far as that is known."""
    found: list[_MemoryRange] = []
    parts = sorted((*_span(view, _origin(tensor)), view.read_only) for tensor, view in zip(tensors, views, strict=True))
    for start, end, read_only in parts:
        if found and start < found[-1].end:
            found[-1].end = max(end, found[-1].end)
        else:
            found.append(_MemoryRange(start, end))
        found[-1].is_written |= not read_only
    return found


def _moved(view: TensorView, ranges: Sequence[_MemoryRange]) -> TensorView:
    """The same tensor in the machine's memory."""
    memory_range = max((each for each in ranges if each.start <= view.address), key=lambda each: each.start)
    assert memory_range.room is not None, "every memory_range has been given memory"
    there, facts = memory_range.room.base + view.address - memory_range.start, view.facts
    moved = tensor_facts(facts.code, facts.bits, facts.extents, facts.strides, facts.lanes, GPU)
    return TensorView((moved, there, view, None, view.counted, view.read_only))


def _span(view: TensorView, origin: int | None) -> tuple[int, int]:
    size = max(ELEMENT_CODES[view.element][1] // 8, 1) if view.element else 1
    steps = [(extent - 1) * stride * size for extent, stride in zip(view.extents, view.strides, strict=True)]
    if 0 in view.extents:
        steps, size = [], 0
    start = view.address + sum(min(step, 0) for step in steps)
    end = view.address + sum(max(step, 0) for step in steps) + size
    distance = 0 if origin is None else max(start - origin, 0)
    return start - distance % _ALIGNMENT, end


def _origin(tensor: Any) -> int | None:
    """Where the memory of the whole array begins that a tensor is a part of."""
    if hasattr(tensor, "untyped_storage"):
        return int(tensor.untyped_storage().data_ptr())
    whole = tensor
    while getattr(whole, "base", None) is not None and hasattr(whole.base, "ctypes"):
        whole = whole.base
    return int(whole.ctypes.data) if hasattr(whole, "ctypes") else None


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
