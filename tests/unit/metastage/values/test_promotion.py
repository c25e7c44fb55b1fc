"""The promotion table is a partial order whose joins behave: laws over every type, pair and triple."""

from __future__ import annotations

import itertools
import math
from functools import cache

import ml_dtypes
import numpy as np
import pytest

from triptych.metastage.values.promotion import TYPES, arithmetic, float_for, join, quotient, wider
from triptych.metastage.values.scalars import NUMERIC_CLASSES

NAMES = tuple(TYPES)
NARROW_FLOATS = {
    "Float4E2M1FN": ml_dtypes.float4_e2m1fn,
    "Float6E2M3FN": ml_dtypes.float6_e2m3fn,
    "Float6E3M2FN": ml_dtypes.float6_e3m2fn,
    "Float8E4M3": ml_dtypes.float8_e4m3,
    "Float8E4M3FN": ml_dtypes.float8_e4m3fn,
    "Float8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "Float8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "Float8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "Float8E5M2": ml_dtypes.float8_e5m2,
    "Float8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "Float16": np.float16,
    "BFloat16": ml_dtypes.bfloat16,
}
"""Types of which every value can be listed."""
PAIRS = tuple(itertools.product(NAMES, NAMES))


@cache
def values(name: str) -> frozenset[str]:
    """Every number of a narrow float type, as text (so that the two zeros differ and all NaNs are one)."""
    width = TYPES[name].width
    size = np.uint8 if width <= 8 else np.uint16
    with np.errstate(invalid="ignore"):  # some patterns are signalling NaNs
        every = np.arange(1 << width, dtype=np.uint32).astype(size).view(NARROW_FLOATS[name]).astype(np.float64)
    return frozenset(repr(float(value)) for value in every)


def integer_range(name: str) -> tuple[int, int]:
    info = TYPES[name]
    low = -(1 << (info.width - 1)) if info.kind == "int" else 0
    return low, low + (1 << info.width) - 1


def test_every_type_is_a_class_and_every_edge_a_type() -> None:
    assert set(NUMERIC_CLASSES) == set(NAMES)
    assert {edge for info in TYPES.values() for edge in info.promotes_to} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_widening_is_a_partial_order(name: str) -> None:
    assert name in wider(name)
    assert all(wider(above) <= wider(name) for above in wider(name))
    assert [above for above in wider(name) if name in wider(above)] == [name]


@pytest.mark.parametrize("name", [name for name, info in TYPES.items() if info.kind != "float"])
def test_integers_widen_to_types_that_hold_them(name: str) -> None:
    low, high = integer_range(name)
    for above in wider(name):
        assert TYPES[above].kind != "float"
        assert integer_range(above)[0] <= low
        assert high <= integer_range(above)[1]


@pytest.mark.parametrize("name", NARROW_FLOATS)
def test_narrow_floats_widen_to_types_that_hold_every_value(name: str) -> None:
    for above in wider(name):
        if above in NARROW_FLOATS:
            assert values(name) <= values(above)
        elif above == "Float32":
            assert all(math.isnan(v) or float(np.float32(v)) == v for v in map(float, values(name)))
        else:
            assert above == "Float64"


def test_join_is_the_least_upper_bound() -> None:
    for left, right in PAIRS:
        joined = join(left, right)
        both = wider(left) & wider(right)
        assert join(right, left) == joined
        assert (joined is None) == (not both), (left, right)
        assert joined is None or (joined in both and both <= wider(joined)), (left, right)


@pytest.mark.parametrize("name", NAMES)
def test_join_is_idempotent(name: str) -> None:
    assert join(name, name) == name


def test_join_is_associative_where_it_is_defined() -> None:
    for a, b, c in itertools.product(NAMES, NAMES, NAMES):
        left, right = join(a, b), join(b, c)
        if left is not None and right is not None:
            assert join(left, c) == join(a, right), (a, b, c)


def test_join_of_a_type_and_one_above_it_is_the_one_above() -> None:
    assert all(join(name, above) == above for name in NAMES for above in wider(name))


def test_arithmetic_is_commutative_and_keeps_floats() -> None:
    for left, right in PAIRS:
        result = arithmetic(left, right)
        assert arithmetic(right, left) == result
        if result is not None:
            has_float = "float" in {TYPES[left].kind, TYPES[right].kind}
            assert TYPES[result].kind in (("float",) if has_float else ("int", "uint")), (left, right)


def test_true_division_is_a_float() -> None:
    for left, right in PAIRS:
        result = quotient(left, right)
        assert result is None or TYPES[result].kind == "float", (left, right)


def test_the_facts_that_the_language_states() -> None:
    assert arithmetic("Int32", "Float32") == "Float32"
    assert quotient("Int32", "Int32") == "Float32"
    assert arithmetic("Float16", "BFloat16") == "Float32"
    assert arithmetic("Float16", "Float32") == "Float32"
    assert join("Int8", "Int32") == "Int32"
    assert join("Boolean", "Int32") == "Int32"
    assert join("Int32", "Float32") is None
    assert join("Uint8", "Int8") == "Int16"
    assert float_for("Int32") == "Float32"
    assert float_for("Int64") == "Float64"
