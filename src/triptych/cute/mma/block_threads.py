"""Meta-stage: the threads that matrix instructions of a kernel have."""

from __future__ import annotations

import math

from triptych.cute.mma.atoms import MmaOperation
from triptych.cute.tracing.arch_errors import DeviceOnlyError
from triptych.cute.tracing.current_trace import tracing
from triptych.metastage.trace.trace import place


def threads_of_block(op: MmaOperation) -> int | None:
    """Threads of a block of the kernel that is traced, if they are known; refused in host code."""
    kernel = tracing().kernel
    if kernel is None:
        raise DeviceOnlyError(
            "a matrix instruction exists only inside a kernel",
            span=place(),
            found=f"a product by {op} in host code",
            expected="a call in a `@kernel` function, or in one that it calls",
        )
    return math.prod(kernel.block) if all(isinstance(extent, int) for extent in kernel.block) else None
