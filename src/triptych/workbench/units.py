"""Unit formatting of numbers for people."""

from __future__ import annotations

_MANY_ULPS = 1000


def time_text(seconds: float) -> str:
    """With a unit that leaves three or four digits."""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.4g} {unit}"
    return f"{seconds * 1e9:.4g} ns"


def ulps_text(ulps: float) -> str:
    """A distance in units of the last place: many of them are little where the number itself is nearly zero."""
    if ulps < _MANY_ULPS:
        return f"{ulps:.3g} ulp"
    return f"{ulps:,.0f} ulp of an expected number near zero"
