"""Meta-stage, integers between a program and the layout algebra: run-time numbers in, run-time numbers out."""

from __future__ import annotations

from typing import Any

from triptych.cute.dynamic.traced_integers import realize, traced_int
from triptych.layout import IntTuple, Layout
from triptych.metastage.trace.trace import active
from triptych.metastage.values.scalars import Numeric


def ints(value: object) -> Any:
    """A number, or a nested tuple of numbers, as the algebra takes it; everything else stays."""
    if isinstance(value, tuple):
        return tuple(map(ints, value))
    return traced_int(value) if isinstance(value, Numeric) else value


def numbers(value: IntTuple | Layout) -> Any:
    """An integer of the algebra, or a nested tuple of them, as a program computes with it."""
    return value if active() is None else realize(value)
