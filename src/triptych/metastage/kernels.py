"""Kernels: device functions launched from traced host code.

The launch is a sequence of loops over the grid and the block around the inlined kernel: every thread runs, one after
the other. Threads that wait for each other need the target's own kernel execution.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from triptych.hooks import ignore_values, no_values
from triptych.metastage.arguments import Parameter
from triptych.metastage.binding_time import Range
from triptych.metastage.calls import inline_call
from triptych.metastage.errors import KernelCallError
from triptych.metastage.tracing import Trace, place


class KernelLaunch:
    """A kernel with its arguments, waiting for `.launch(...)`."""

    def __init__(self, trace: Trace, run: Callable[[], Any], name: str) -> None:
        self._trace = trace
        self._run = run
        self._call = (name, place())
        trace.unlaunched.append(self._call)

    def launch(self, *, grid: Any, block: Any) -> None:
        """Run the kernel for every thread of every block."""
        counts = [*_three(grid), *_three(block)]
        if self._call in self._trace.unlaunched:
            self._trace.unlaunched.remove(self._call)
        self._trace.in_kernel = True
        try:
            self._nest(counts)
        finally:
            self._trace.in_kernel = False

    def _nest(self, counts: list[Any]) -> None:
        if not counts:
            self._run()
            return
        self._trace.hooks.for_(Range(counts[0]), lambda _: self._nest(counts[1:]), (), (), no_values, ignore_values)


def check_launched(trace: Trace) -> None:
    """Refuse a kernel call without a launch, which would do nothing."""
    for name, span in trace.unlaunched:
        raise KernelCallError(
            f"the kernel {name} is called but never launched",
            span=span,
            found="a call of a `@kernel` function, which runs nothing by itself",
            expected="a launch",
            instead=f"`{name}(...).launch(grid=..., block=...)`",
        )


def kernel_call(
    trace: Trace,
    function: FunctionType,
    parameters: tuple[Parameter, ...],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> KernelLaunch:
    """A call of a kernel in traced code: allowed in host code, where it is launched."""
    if trace.in_kernel:
        raise KernelCallError(
            f"the kernel {function.__qualname__} cannot be called from another kernel",
            span=place(),
            found="a call of a `@kernel` function in device code",
            expected="a `@jit` or plain Python function, which is inlined",
            instead=f"`@jit` instead of `@kernel` on {function.__name__}",
        )
    return KernelLaunch(trace, lambda: inline_call(trace, function, parameters, args, kwargs), function.__name__)


def _three(counts: Any) -> tuple[Any, Any, Any]:
    given = tuple(counts) if isinstance(counts, list | tuple) else (counts,)
    x, y, z, *_ = (*given, 1, 1, 1)
    return x, y, z
