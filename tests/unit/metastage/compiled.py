"""Expressions compiled once for each combination of types, and the exact values they are compared with."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from hypothesis import strategies as st

import triptych as tt
from triptych.metastage.values.promotion import TYPES
from triptych.metastage.values.scalars import NUMERIC_CLASSES

INTEGERS = ("Int4", "Int8", "Int16", "Int32", "Int64", "Uint8", "Uint16", "Uint32", "Uint64")
FLOATS = ("Float16", "BFloat16", "Float32", "Float64")
CALLABLE = ("Boolean", *INTEGERS, *FLOATS)
"""The types that can be arguments and results on the CPU."""


@cache
def compiled(function: Callable[..., Any], *types: str, opt_level: int = 0) -> Callable[..., Any]:
    """The function compiled for arguments of these types."""
    arguments = [NUMERIC_CLASSES[name].constant(1) for name in types]
    return tt.compile(function, *arguments, opt_level=opt_level)


def bounds(name: str) -> tuple[int, int]:
    """The smallest and the largest value of an integer type."""
    info = TYPES[name]
    low = -(1 << (info.width - 1)) if info.kind == "int" else 0
    return low, low + (1 << info.width) - 1


def wrap(value: int, name: str) -> int:
    """The integer of the type that is equal modulo two to the width."""
    low, _ = bounds(name)
    return (value - low) % (1 << TYPES[name].width) + low


def integers(name: str) -> st.SearchStrategy[int]:
    """Integers of a type: the whole range, and often its corners."""
    low, high = bounds(name)
    corners = [value for value in (low, low + 1, -1, 0, 1, 2, 3, high - 1, high) if low <= value <= high]
    return st.one_of(st.sampled_from(corners), st.integers(low, high))


def any_float(name: str) -> st.SearchStrategy[float]:
    """Floats of a type, special ones included; of BFloat16, floats that have to be rounded to it."""
    if name == "Float64":
        return st.floats(width=64)
    return st.floats(width=16) if name == "Float16" else st.floats(width=32)


def bits(value: float) -> bytes:
    """What tells floats apart: their bits, all NaNs being one."""
    return b"nan" if math.isnan(value) else struct.pack("<d", value)


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    """The result, or the builtin exception that a Python programmer would catch."""
    try:
        return function(*args)
    except Exception as error:
        return next(cls for cls in type(error).__mro__ if cls.__module__ == "builtins")


def pairs(names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    return ((left, right) for left in names for right in names)
