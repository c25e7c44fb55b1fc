"""Timing of calls: wall-clock time of the calling thread, which waits for every launch on the CPU."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from itertools import cycle, islice
from typing import Any

_LARGEST_CACHE = 64 << 20
"""Bytes; a set of arguments that was not used for so long has left the caches of most machines."""


class JitArguments:
    """The arguments of one call, kept to be used again and again."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        self.args = args
        self.kwargs = kwargs
        self._owners: list[object] = []

    def add_to_scope(self, values: Iterable[object]) -> None:
        """Keep what the memory of arguments belongs to, as long as them."""
        self._owners += values

    def __repr__(self) -> str:
        given = (*map(repr, self.args), *(f"{name}={value!r}" for name, value in self.kwargs.items()))
        return f"JitArguments({', '.join(given)})"

    def call(self, function: Callable[..., Any]) -> Any:
        """Call a function with them."""
        return function(*self.args, **self.kwargs)


def benchmark(
    callable: Callable[..., Any],
    *,
    warmup_iterations: int = 10,
    iterations: int = 100,
    stream: object = None,
    kernel_arguments: JitArguments | None = None,
    workspace_generator: Callable[[], JitArguments] | None = None,
    workspace_count: int = 1,
    use_cuda_graphs: bool = False,
) -> float:
    """The mean time of a call in microseconds, the call from Python included.

    `workspace_generator` makes `workspace_count` sets of arguments that are used in turn, so that not all of them
    stay in a cache. A launch on the CPU ends before the call returns: `stream` and `use_cuda_graphs` change nothing.
    """
    if workspace_generator is not None:
        workspaces = [workspace_generator() for _ in range(max(1, workspace_count))]
    else:
        workspaces = [JitArguments() if kernel_arguments is None else kernel_arguments]
    turns = cycle(workspaces)
    for arguments in islice(turns, warmup_iterations):
        arguments.call(callable)
    measured = list(islice(turns, max(1, iterations)))
    started = time.perf_counter()
    for arguments in measured:
        arguments.call(callable)
    return (time.perf_counter() - started) / len(measured) * 1e6


def get_workspace_count(one_workspace_bytes: int, warmup_iterations: int, iterations: int) -> int:
    """How many sets of arguments, used in turn, no cache keeps; never more than there are calls."""
    wanted = 3 * _LARGEST_CACHE // max(1, one_workspace_bytes) + 1
    return max(1, min(wanted, warmup_iterations + iterations))
