"""Clocks: of the host, or the events of a GPU. The second is untested on hardware."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter_ns
from typing import Any, Protocol

from triptych.targets.nvptx.runtime.driver import LIBRARIES
from triptych.workbench.arrays import is_on_gpu, torch
from triptych.workbench.errors import ContractError

Call = Callable[[], Any]
_READINGS = 200
HOST = "host"
UNTRIED = "GPU timing is untested on hardware"


class Clock(Protocol):
    """How long calls take."""

    name: str

    @property
    def cost(self) -> float:
        """Seconds of measuring nothing."""

    def seconds(self, call: Call, repeats: int) -> float:
        """Of so many calls, one after the other, in all."""

    def evict(self) -> None:
        """Push what was used out of the last cache, outside of what is measured."""


class HostClock:
    """Wall-clock time of this thread, which waits for every launch on the CPU."""

    name = HOST

    def __init__(self, evicted_bytes: int = 0) -> None:
        self._spare = bytearray(evicted_bytes)
        self._cost = min(self.seconds(_nothing, 1) for _ in range(_READINGS))

    @property
    def cost(self) -> float:
        return self._cost

    def seconds(self, call: Call, repeats: int) -> float:
        started = perf_counter_ns()
        for _ in range(repeats):
            call()
        return (perf_counter_ns() - started) / 1e9

    def evict(self) -> None:
        spare = self._spare
        spare[::64] = spare[::64].translate(_NEXT)


class GpuClock:
    """Events of torch around calls on the current stream. What evicts runs before the first event, and is waited for.

    Lines that persist in the second cache are given back first, so that a kernel cannot keep its inputs there. `graph`
    replays captured calls instead: a mode of its own, because it hides what launching costs.
    """

    name = "gpu"
    cost = 2e-6

    def __init__(self, torch: Any, evicted_bytes: int, graph: bool = False, give_back: Call | None = None) -> None:
        self._torch = torch
        self._give_back = give_back or _give_back_lines
        self._spare = torch.empty(evicted_bytes, dtype=torch.int8, device="cuda")
        self._graph = graph
        self.name = "gpu graph" if graph else "gpu"

    def seconds(self, call: Call, repeats: int) -> float:
        cuda = self._torch.cuda
        run = self._captured(call) if self._graph else call
        event = cuda.Event
        first, last = event(enable_timing=True), event(enable_timing=True)
        cuda.synchronize()
        first.record()
        for _ in range(repeats):
            run()
        last.record()
        cuda.synchronize()
        return float(first.elapsed_time(last)) / 1e3

    def evict(self) -> None:
        self._give_back()
        self._spare.zero_()
        self._torch.cuda.synchronize()

    def _captured(self, call: Call) -> Call:
        graph = self._torch.cuda.CUDAGraph()
        with self._torch.cuda.graph(graph):
            call()
        replay: Call = graph.replay
        return replay


def clock_for(arrays: Sequence[Any], graph: bool = False) -> Clock:
    """Events for arguments on a GPU, which is emptied by twice its second cache; the host's clock for all others.

    A program that runs in the compatibility layer is told of a GPU that is not there: its tensors are the host's.
    """
    there = next((array for array in arrays if is_on_gpu(array)), None)
    if there is not None:
        properties = torch().cuda.get_device_properties(there.device)
        return GpuClock(torch(), 2 * properties.L2_cache_size, graph)
    if graph:
        raise ContractError("--graph is for kernels on a GPU", found="arguments of the host", instead="leave it out")
    return HostClock()


def _give_back_lines() -> None:
    """The driver's own call; torch has none for it."""
    ctypes.CDLL(LIBRARIES[0]).cuCtxResetPersistingL2Cache()


@contextmanager
def without_collections() -> Iterator[None]:
    """Python collects no garbage inside: it would be counted to whichever side is running."""
    was = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _nothing() -> None:
    """Costs what every call costs."""


_NEXT = bytes((i + 1) % 256 for i in range(256))
