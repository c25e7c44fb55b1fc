"""Groups of asynchronous copies (`cp.async`): commit, and wait for all but the newest."""

from __future__ import annotations

from triptych.cute.tracing.device import Integer, device_function, device_trace
from triptych.kernel_ir.dialects.simt import ASYNC_COMMIT, ASYNC_WAIT
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place


@device_function
def cp_async_commit_group() -> None:
    """The copies that this thread has started since the last commit are a group; there may be none."""
    device_trace().operation(ASYNC_COMMIT)


@device_function
def cp_async_wait_group(n: Integer) -> None:
    """Wait until at most the `n` newest groups of this thread are under way.

    Other threads see what was copied after a barrier.
    """
    if not isinstance(n, int) or n < 0:
        raise OperandTypeError(
            "how many groups may be under way is part of the instruction",
            span=place(),
            found=str(n),
            expected="a number that is known while tracing, 0 or more",
        )
    trace = device_trace()
    trace.operation(ASYNC_WAIT, attributes={"groups": trace.builder.integer("i32", n)})
