"""Reducing tensor values: which modes, from which start, in which type."""

from __future__ import annotations

from typing import Any

import pytest

import triptych as tt
from tests.support.tensor_values import evaluated
from triptych.cute.tensors.reduction import ReductionOp, plan_reduction
from triptych.cute.tensors.value_functions import full
from triptych.layout import LayoutError

# [[1, 2, 3], [4, 5, 6]]
MATRIX = ([1.0, 4.0, 2.0, 5.0, 3.0, 6.0], (2, 3), tt.Float32)


@pytest.mark.parametrize(
    ("start", "profile", "expected"),
    [(0.0, 0, [21.0]), (0.0, (None, 1), [6.0, 15.0]), (1.0, (1, None), [6.0, 8.0, 10.0]), (0.0, (0, 0), [21.0])],
)
def test_documented_sums(start: float, profile: Any, expected: list[float]) -> None:
    assert evaluated(lambda x: x.reduce(ReductionOp.ADD, start, reduction_profile=profile), MATRIX) == expected


@pytest.mark.parametrize(
    ("op", "start", "expected"),
    [
        (ReductionOp.ADD, 100, 121),
        (ReductionOp.MUL, 2, 1440),
        (ReductionOp.MAX, 0, 6),
        (ReductionOp.MAX, 9, 9),
        (ReductionOp.MIN, 9, 1),
        (ReductionOp.MIN, -9, -9),
    ],
)
@pytest.mark.parametrize("dtype", [tt.Int32, tt.Int64, tt.Float32, tt.Float16])
def test_every_operation_starts_from_the_given_number(op: ReductionOp, start: int, expected: int, dtype: Any) -> None:
    assert evaluated(lambda x: x.reduce(op, start, 0), (range(1, 7), 6, dtype)) == [expected]


def test_unsigned_extremes_compare_without_sign() -> None:
    assert evaluated(lambda x: x.reduce(ReductionOp.MAX, 0, 0), ([1, 200], 2, tt.Uint8)) == [200]


def test_an_operation_has_a_name() -> None:
    assert evaluated(lambda x: x.reduce("add", 0.0, 0), MATRIX) == [21.0]
    with pytest.raises(TypeError, match="XOR reduces memory, not values"):
        evaluated(lambda x: x.reduce("xor", 0.0, 0), MATRIX)


@pytest.mark.parametrize(
    ("shape", "profile", "kept"),
    [
        ((4,), 0, ()),
        ((4, 5), 0, ()),
        ((4, (5, 4)), (None, 1), (4,)),
        ((4, (5, 4)), (None, (None, 1)), (4, (5,))),
        ((4, (5, 4)), (0, (None, None)), ((5, 4),)),
        ((2, 3, 4), (0, None, 1), (3,)),
        ((2, 3), (None, None), (2, 3)),
        (4, None, 4),
    ],
)
def test_what_is_kept_nests_as_before(shape: Any, profile: Any, kept: Any) -> None:
    assert plan_reduction(shape, profile).kept == kept


def test_a_profile_fits_the_shape() -> None:
    with pytest.raises(LayoutError):
        evaluated(lambda x: x.reduce(ReductionOp.ADD, 0.0, (None, None, 1)), MATRIX)


def test_the_start_takes_the_type_of_the_elements() -> None:
    def total(x: Any) -> Any:
        result = x.to(tt.Float16).reduce(ReductionOp.ADD, tt.Float32(0.5), 0)
        assert result.dtype is tt.Float16
        return result

    assert evaluated(total, MATRIX) == [21.5]


def test_booleans_are_counted() -> None:
    assert evaluated(lambda x: (x > 2.0).reduce(ReductionOp.ADD, 0, 0), MATRIX) == [4]


def test_the_maximum_ignores_nan() -> None:
    nan = float("nan")
    assert evaluated(lambda x: x.reduce(ReductionOp.MAX, 0.0, 0), ([nan, 2.0, nan], 3, tt.Float32)) == [2.0]


def test_a_sum_takes_as_many_steps_as_the_count_has_digits() -> None:
    def total(a: tt.Float32) -> Any:
        return full(64, a, tt.Float32).reduce(ReductionOp.ADD, 0.0, 0)

    assert tt.compile(total, 1.0).mlir.count("arith.addf") == 7  # six halvings, and the start
