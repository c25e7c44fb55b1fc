"""Meta-stage, the order of products that run while their warps go on: fences, groups, and waits for groups."""

from __future__ import annotations

from triptych.cute.tracing.device import device_function, device_trace
from triptych.kernel_ir.dialects.tile import WGMMA_COMMIT, WGMMA_FENCE, WGMMA_WAIT
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place

_MOST = 7
"""Groups that may be left open."""


@device_function
def fence() -> None:
    """Registers that were written before this are what products after it read and add to."""
    device_trace().operation(WGMMA_FENCE)


@device_function
def commit_group() -> None:
    """Close the group of all products since the last one."""
    device_trace().operation(WGMMA_COMMIT)


@device_function
def wait_group(group: int) -> None:
    """Wait until at most `group` of the latest groups are unfinished."""
    if type(group) is not int or not 0 <= group <= _MOST:
        raise OperandTypeError(
            "how many groups may be unfinished is part of the instruction",
            span=place(),
            found=f"wait_group({group})",
            expected=f"a number from 0 to {_MOST} that is known while tracing",
        )
    trace = device_trace()
    trace.operation(WGMMA_WAIT, attributes={"groups": trace.builder.integer("i64", group)})
