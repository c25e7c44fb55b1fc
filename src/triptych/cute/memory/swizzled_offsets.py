"""Meta-stage, permuted offsets: what a swizzle makes of an offset, remembered for the trace.

A kernel permutes the same part of an offset hundreds of times, beside different numbers that are only added.
"""

from __future__ import annotations

from triptych.cute.tracing.current_trace import tracing
from triptych.layout import Int, Swizzle, SymInt
from triptych.layout.mixed_radix import constant_and_rest
from triptych.layout.swizzle import SwizzleSplit

_PARTS, _PERMUTED = "parts of offsets", "permuted offsets"


def permuted(swizzle: Swizzle, offset: Int) -> Int:
    """swizzle(offset)."""
    if not isinstance(offset, SymInt):
        return swizzle(offset)
    constant, computed = constant_and_rest(offset)
    table = tracing().tables[_PARTS]
    parts: SwizzleSplit | None = table.get((swizzle, computed))
    if parts is None:
        parts = table[swizzle, computed] = swizzle.parts(computed)
    rest, added = parts.moved(constant)
    if isinstance(rest, int):
        return swizzle(rest) + added
    table = tracing().tables[_PERMUTED]
    known: Int | None = table.get((swizzle, rest))
    if known is None:
        known = table[swizzle, rest] = swizzle(rest)
    return known + added
