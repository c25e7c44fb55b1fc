"""Sizes of memory that launches, blocks and host functions must agree on."""

from __future__ import annotations

ALIGNMENT = 64
"""Of everything that compiled code allocates: a line of the cache, and the widest vector register."""
SHARED_ALIGNMENT = 1024
"""Of the shared memory of a block: what the largest swizzle permutes in itself."""
STACK_BYTES = 1 << 16
"""What a function may take of the stack of whoever calls it: threads may have 256 KiB."""


def padded(size: int) -> int:
    """The bytes that something takes where the next one is to be aligned."""
    return -(-size // ALIGNMENT) * ALIGNMENT
