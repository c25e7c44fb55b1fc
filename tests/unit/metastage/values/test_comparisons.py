"""Comparisons of integers with what their type does not hold: as Python compares them, exactly."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.unit.metastage.compiled import bounds, compiled

INTEGERS = ("Boolean", "Int8", "Uint8", "Int16", "Int32", "Uint32", "Int64", "Uint64")
OPERATORS: tuple[Callable[[Any, Any], Any], ...] = (
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    operator.eq,
    operator.ne,
)
CONSTANTS: tuple[Any, ...] = (
    *(0, 1, 2, -1, 255, 256, -129, 2**31, 2**40, -(2**70), 2**64, True, False),
    *(0.0, -0.0, 0.5, -0.5, 1.0, 1.0000000001, 16777216.5, 16777217.0, 2.0**53, 2.0**63, 2.0**64, -(2.0**63), 1e300),
    *(math.inf, -math.inf, math.nan),
)
FLOATS = {"Float16": np.float16, "Float32": np.float32, "Float64": np.float64}


def values(name: str) -> list[Any]:
    if name == "Boolean":
        return [False, True]
    low, high = bounds(name)
    return [n for n in {low, low + 1, 0, 1, 2**24 + 1, 2**53 + 1, high // 2 + 1, high - 1, high} if low <= n <= high]


def with_constants(n: Any) -> Any:
    """What every comparison answers, one bit for each: so many results would take a second to compile."""
    outcomes = [op(n, constant) for constant in CONSTANTS for op in OPERATORS]
    outcomes += [op(constant, n) for constant in CONSTANTS for op in OPERATORS]
    words = [outcomes[start : start + 60] for start in range(0, len(outcomes), 60)]
    return tuple([sum([tt.Int64(bit) << place for place, bit in enumerate(word)]) for word in words])


def in_python(n: Any) -> tuple[int, ...]:
    outcomes = [op(n, constant) for constant in CONSTANTS for op in OPERATORS]
    outcomes += [op(constant, n) for constant in CONSTANTS for op in OPERATORS]
    return tuple(
        sum(bit << place for place, bit in enumerate(outcomes[start : start + 60]))
        for start in range(0, len(outcomes), 60)
    )


@pytest.mark.parametrize("name", INTEGERS)
def test_constants(name: str) -> None:
    native = compiled(with_constants, name)
    for n in values(name):
        assert native(n) == in_python(n)


def with_floats(n: Any, x: Any) -> Any:
    return tuple([op(n, x) for op in OPERATORS] + [op(x, n) for op in OPERATORS])


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("kind", list(FLOATS))
def test_run_time_floats(name: str, kind: str) -> None:
    native = compiled(with_floats, name, kind)
    low, high = bounds(name) if name != "Boolean" else (0, 1)
    near = (float(low), float(high), 2.0**31, 2.0**53, 2.0**53 + 2, 2.0**63, 2.0**64, -(2.0**63), -(2.0**63) - 2048)
    for n in values(name):
        for given in (0.0, -0.0, 0.5, 1.0, *near, math.inf, -math.inf, math.nan):
            with np.errstate(over="ignore"):
                x = float(np.asarray(given, FLOATS[kind]))
            assert native(n, x) == with_floats(n, x), (n, x)
