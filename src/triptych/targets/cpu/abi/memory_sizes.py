"""Sizes of memory that launches, blocks and host functions must agree on."""

from __future__ import annotations

from triptych.ir.builder import Builder
from triptych.ir.handles import Value

ALIGNMENT = 64
"""Of everything that compiled code allocates: a line of the cache, and the widest vector register."""
SHARED_ALIGNMENT = 1024
"""Of the shared memory of a block: what the largest swizzle permutes in itself."""
STACK_BYTES = 1 << 16
"""What a function may take of the stack of whoever calls it: threads may have 256 KiB."""


def padded(size: int) -> int:
    """The bytes that something takes where the next one is to be aligned."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def padded_value(builder: Builder, size: Value, alignment: int = ALIGNMENT) -> Value:
    """As `padded`, of a number (i64) that is known at run time."""
    more = builder.value("arith.addi", (size, builder.constant(alignment - 1, "i64")), "i64")
    return builder.value("arith.andi", (more, builder.constant(-alignment, "i64")), "i64")
