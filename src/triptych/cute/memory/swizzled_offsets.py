"""Meta-stage, permuted offsets: what a swizzle makes of an offset, remembered for the trace.

A kernel permutes the same part of an offset hundreds of times, beside different numbers that are only added.
"""

from __future__ import annotations

from triptych.cute.current_trace import tracing
from triptych.layout import Int, Swizzle

_TABLE = "permuted offsets"


def permuted(swizzle: Swizzle, offset: Int) -> Int:
    """swizzle(offset)."""
    rest, added = swizzle.parted(offset)
    if isinstance(rest, int):
        return swizzle(rest) + added
    table = tracing().tables[_TABLE]
    known: Int | None = table.get((swizzle, rest))
    if known is None:
        known = table[swizzle, rest] = swizzle(rest)
    return known + added
