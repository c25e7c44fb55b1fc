"""Python's builtins on run-time values mean what they mean in Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import triptych as tt
from tests.support.examples import examples
from tests.unit.metastage.compiled import bits, compiled, integers
from triptych.metastage.trace.errors import StaticRequiredError

EXPRESSIONS: list[Callable[[Any, Any, Any], Any]] = [
    lambda a, b, c: min(a, b, c),
    lambda a, b, c: max(a, b, c),
    lambda a, b, c: min([a, b, c]),
    lambda a, b, c: max((a, b, c)),
    lambda a, b, c: min(a, 3),
    lambda a, b, c: max(3, a, b),
    lambda a, b, c: sum([a, b, c]) % 1000003,
    lambda a, b, c: sum((a % 7, b % 7), 5),
    lambda a, b, c: any([a > b, b > c]),
    lambda a, b, c: all([a > b, b > c]),
    lambda a, b, c: any((a, b)),
    lambda a, b, c: all((a, b, 1)),
    lambda a, b, c: bool(a),
    lambda a, b, c: int(a > b),
    lambda a, b, c: abs(a % 1000 - 500),
    lambda a, b, c: divmod(a, 7),
    lambda a, b, c: len([a, b, c]),
    lambda a, b, c: [x * 2 for x in (a % 10, b % 10)][1],
    lambda a, b, c: tuple(x + i for i, x in enumerate((a % 10, b % 10))),
    lambda a, b, c: [x + y for x, y in zip((a % 10, b % 10), (1, 2), strict=True)][1],
    lambda a, b, c: a in (b, c, 3),
    lambda a, b, c: a not in [b, 0],
    lambda a, b, c: a in range(0, 100, 3),
    lambda a, b, c: a in range(50, -50, -7),
    lambda a, b, c: (b % 10, c % 10, 7)[a % 3],
    lambda a, b, c: [10, 20, 30][a % 3 - 3],
    lambda a, b, c: isinstance(len((a, b)), int),
    lambda a, b, c: round(a),
    lambda a, b, c: round(a, 2),
    lambda a, b, c: pow(a % 10, 3),
    lambda a, b, c: min(a, b, c, key=lambda v: -v),
    lambda a, b, c: max([a, b, c], key=lambda v: v if v < 3 else -v),
    lambda a, b, c: min([a, b], default=7),
]


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=range(len(EXPRESSIONS)))
def test_integer_expressions(expression: Callable[[Any, Any, Any], Any]) -> None:
    native = compiled(expression, "Int64", "Int64", "Int64")
    small = st.integers(-200, 200)

    @examples(60)
    @given(small, small, small)
    def law(a: int, b: int, c: int) -> None:
        expected = expression(a, b, c)
        found = native(a, b, c)
        assert found == expected
        assert type(found) is type(expected)

    law()


def test_float_becomes_int_toward_zero() -> None:
    native = compiled(lambda x: int(x), "Float64")

    @given(st.floats(-(2.0**62), 2.0**62))
    def law(x: float) -> None:
        assert native(x) == int(x)

    law()


def test_int_becomes_float() -> None:
    native = compiled(lambda n: float(n), "Int64")

    @given(integers("Int64"))
    def law(n: int) -> None:
        assert bits(native(n)) == bits(float(n))

    law()


def test_extremes_of_floats_keep_pythons_order() -> None:
    native = compiled(lambda a, b: (min(a, b), max(a, b)), "Float64", "Float64")

    @examples(200)
    @given(st.floats(), st.floats())
    def law(a: float, b: float) -> None:
        assert [bits(v) for v in native(a, b)] == [bits(min(a, b)), bits(max(a, b))]

    law()


def test_truth_of_nan_is_true() -> None:
    assert compiled(lambda x: bool(x), "Float64")(math.nan) is True


def test_extremes_have_the_type_of_the_sum() -> None:
    smaller, total = (compiled(f, "Int32", "Float32") for f in (lambda a, b: min(a, b), lambda a, b: a + b))
    assert smaller(3, 2.5) == 2.5
    assert smaller(2, 2.5) == 2
    assert type(smaller(2, 2.5)) is type(total(2, 2.5))


@pytest.mark.parametrize(
    "expression",
    [
        lambda a: sorted([a, 1]),
        lambda a: [1, 2, 3][:a],
        lambda a: "ab" * a,
        lambda a: {1: 2}[a],
        lambda a: list(range(a)),
        lambda a: math.sqrt(a),
        lambda a: hash(a),
        lambda a: round(a / 3, 2),
        lambda a: pow(a, 2, 7),
        lambda a: len(range(tt.Int64(a))),
    ],
)
def test_what_needs_the_value_while_tracing_is_refused(expression: Callable[[Any], Any]) -> None:
    with pytest.raises((StaticRequiredError, TypeError)):
        tt.compile(expression, 1)


@examples(100)
@given(st.integers(-60, 60), st.integers(-60, 60), st.integers(-7, 7).filter(bool))
def test_length_of_a_run_time_range(start: int, stop: int, step: int) -> None:
    native = compiled(lambda a, b, c: len(range(a, b, c)), "Int32", "Int32", "Int32")
    assert native(start, stop, step) == len(range(start, stop, step))


@pytest.mark.parametrize("bounds", [(-(2**31), 2**31 - 1, 1), (2**31 - 1, -(2**31), -1), (0, 2**31 - 1, 2**31 - 1)])
def test_length_of_the_longest_ranges(bounds: tuple[int, int, int]) -> None:
    native = compiled(lambda a, b, c: len(range(a, b, c)), "Int32", "Int32", "Int32")
    assert native(*bounds) == len(range(*bounds))


@tt.jit
def _digits_backward(start: tt.Int32, stop: tt.Int32, step: tt.Int32) -> Any:
    number = 0
    for i in reversed(range(start, stop, step)):
        number = number * 7 + i
    for i in reversed(range(stop)):
        number = number * 3 - i
    return number


@examples(100)
@given(st.integers(-60, 60), st.integers(-60, 60), st.integers(-7, 7).filter(bool))
def test_reversed_run_time_range(start: int, stop: int, step: int) -> None:
    expected = _digits_backward.function(start, stop, step)
    wrapped = (expected + 2**31) % 2**32 - 2**31
    assert _digits_backward(start, stop, step) == wrapped


@examples(200)
@given(st.floats(-1e6, 1e6) | st.integers(-(10**6), 10**6).map(lambda n: n + 0.5))
def test_round_of_a_float(x: float) -> None:
    native = compiled(lambda a: round(a), "Float64")
    found = native(x)
    assert found == round(x)
    assert type(found) is int
