"""Kernel functions: names of those that run blocks, their attributes, where launch data lies, how a call fails.

A kernel `k` is `k.blocks` from the moment when it has become ordinary code until it is in the LLVM dialect.
"""

from __future__ import annotations

from collections.abc import Sequence

from triptych.ir.builder import ERROR_ATTRIBUTE, Builder
from triptych.ir.handles import Operation, Value
from triptych.kernel_ir.dialects.kernel_operations import enclosing
from triptych.targets.cpu.abi.abi import STOPPING

BLOCKS = ".blocks"
"""Its parameters are the kernel's, then grid x, y, z, block x, y, z and bytes of shared memory (i32), then the first
block and the one after the last (i64). It has no results."""
WARPS = ".warps"
"""Before a number: a function of its own that runs all warps of a block through one segment of the kernel."""
KERNEL_ATTRIBUTE = "triptych.kernel"
"""Marks the function once it has one parameter more, the launch."""
FAULT_ATTRIBUTE = "triptych.fault"
"""Marks the `llvm.alloca` of `!llvm.array<4 x i32>` in its entry block that holds the place of a failing thread, stored
before a check fails: block x, y, z and the thread's number in the block."""
MEMORY_ATTRIBUTE = "triptych.block_bytes"
"""Bytes of the thread's arena that the function uses beside shared memory, which comes first; none without it."""
POLL_REQUEST = "triptych.poll"
"""Called without arguments or results where the function may run for long: the place to notice an interrupt."""

LAUNCH_REQUEST = "triptych.launch"
"""Called without arguments where the function needs the launch itself, which is its result."""
SUSPEND_REQUEST = "triptych.suspend"
"""Called in a coroutine without arguments or results: other warps run."""
COROUTINE_ATTRIBUTE = "triptych.coroutine"
"""Marks a function that runs one warp and may suspend; the attribute names the function that callers call."""

FRAME_ALIGNMENT_ATTRIBUTE = "triptych.frame_alignment"
"""Of such a function: bytes that its frame is aligned to, where it holds larger vectors than these."""
FRAME_ALIGNMENT = 256
"""32 lanes of 8 bytes."""


def launch_of(operation: Operation) -> Value | None:
    """The launch that an operation belongs to; None in host code."""
    function = enclosing_function(operation)
    if KERNEL_ATTRIBUTE not in function.attributes:
        return None
    arguments = function.regions[0].blocks[0].arguments
    return arguments[len(arguments) - 1]


def enclosing_function(operation: Operation) -> Operation:
    """The `func.func` that an operation is in, or is."""
    while operation.name != "func.func":
        operation = enclosing(operation)
    return operation


# Status of runtime functions: compiled code leaves when one is not zero, since the cause is kept already.


def check_status(builder: Builder, callee: str, operands: Sequence[Value]) -> None:
    """Call a function that gives a status, and leave when it is not zero."""
    check_zero(builder, builder.call(callee, operands, ["i32"]).result)


def check_zero(builder: Builder, status: Value) -> None:
    """Leave when a status is not zero."""
    holds = builder.compare("eq", status, builder.constant(0, "i32"))
    stopping = {"msg": "the cause is kept already", ERROR_ATTRIBUTE: STOPPING}
    builder.operation("cf.assert", (holds,), attributes={name: builder.string(text) for name, text in stopping.items()})
