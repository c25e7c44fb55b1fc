"""Laws of tensor values: each element is what the operator gives for numbers, and shapes meet as NumPy's do."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import triptych as tt
from tests.support.tensor_values import evaluated
from triptych.cute.tensors.broadcasting import broadcast_positions, broadcast_shape
from triptych.cute.tensors.reduction import ReductionOp, plan_reduction
from triptych.cute.tensors.value import TensorSSA
from triptych.cute.tracing.errors import TensorShapeError
from triptych.metastage.values.scalars import Numeric

ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod]
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]
BITS = [operator.and_, operator.or_, operator.xor]
SHIFTS = [operator.lshift, operator.rshift]

INTEGERS = ([-7, 5, 0, 100, -128, 3], [3, -2, 7, -9, 5, 127])
FLOATS = ([-7.5, 0.25, 3.0, -0.0, 1e10, 2.5], [2.0, -0.75, 1.5, 3.0, -3.0, 0.1])
PAIRS = [
    (tt.Int32, tt.Int32),
    (tt.Int8, tt.Int32),
    (tt.Int64, tt.Int16),
    (tt.Uint32, tt.Uint8),
    (tt.Uint8, tt.Int8),
    (tt.Boolean, tt.Int32),
    (tt.Float32, tt.Float32),
    (tt.Float32, tt.Int32),
    (tt.Float16, tt.Float32),
    (tt.BFloat16, tt.BFloat16),
    (tt.Float64, tt.Float32),
    (tt.Float8E4M3FN, tt.Float8E4M3FN),
]


def operators_of(left: type[Numeric], right: type[Numeric]) -> list[Callable[[Any, Any], Any]]:
    if "float" in (left.info.kind, right.info.kind):
        return ARITHMETIC + COMPARISONS
    counts = SHIFTS if right.info.kind == "uint" else []
    return ARITHMETIC + COMPARISONS + BITS + counts


@pytest.mark.parametrize(("left", "right"), PAIRS, ids=lambda dtype: dtype.__name__)
def test_each_element_is_what_the_operator_gives_for_numbers(left: type[Numeric], right: type[Numeric]) -> None:
    values = INTEGERS if left.info.kind != "float" and right.info.kind != "float" else FLOATS
    used = operators_of(left, right)

    def both(x: Any, y: Any) -> Any:
        tensors = tuple(op(x, y) for op in used)
        numbers = tuple(op(x[i], y[i]) for op in used for i in range(x.size))
        assert [t.dtype for t in tensors for _ in range(x.size)] == [type(n) for n in numbers]
        return (*tensors, *numbers)

    results = evaluated(both, (values[0], 6, left), (values[1], 6, right))
    half = len(results) // 2
    assert list(map(repr, results[:half])) == list(map(repr, results[half:]))


CONVERSIONS = [
    *(tt.Boolean, tt.Int8, tt.Uint16, tt.Int32, tt.Uint64),
    *(tt.Float4E2M1FN, tt.Float8E5M2, tt.Float16, tt.BFloat16, tt.TFloat32, tt.Float32, tt.Float64),
]


@pytest.mark.parametrize("source", [tt.Int32, tt.Uint8, tt.Float16, tt.Float32, tt.Boolean], ids=lambda d: d.__name__)
def test_each_element_converts_as_a_number_does(source: type[Numeric]) -> None:
    values = FLOATS[0] if source.info.kind == "float" else INTEGERS[0]

    def both(x: Any) -> Any:
        unary = (-x, abs(x), +x)
        tensors = (*(x.to(target) for target in CONVERSIONS), *unary)
        numbers = [x[i].to(target) for target in CONVERSIONS for i in range(x.size)]
        numbers += [op(x[i]) for op in (operator.neg, abs, operator.pos) for i in range(x.size)]
        return (*tensors, *numbers)

    results = evaluated(both, (values, 6, source))
    half = len(results) // 2
    assert list(map(repr, results[:half])) == list(map(repr, results[half:]))


@pytest.mark.parametrize("constant", [3, -2, 2.5])
@pytest.mark.parametrize("dtype", [tt.Int32, tt.Float32, tt.Float16], ids=lambda dtype: dtype.__name__)
def test_a_python_number_adapts_as_it_does_beside_a_number(dtype: type[Numeric], constant: float) -> None:
    def both(x: Any) -> Any:
        tensors = (*(op(x, constant) for op in ARITHMETIC), *(op(constant, x) for op in ARITHMETIC[:4]))
        numbers = [op(x[i], constant) for op in ARITHMETIC for i in range(x.size)]
        return (*tensors, *numbers, *(op(constant, x[i]) for op in ARITHMETIC[:4] for i in range(x.size)))

    results = evaluated(both, ([-7, 5, 11], 3, dtype))
    half = len(results) // 2
    assert list(map(repr, results[:half])) == list(map(repr, results[half:]))


# shapes -----------------------------------------------------------------------------------------------------------
SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


@given(SHAPES, SHAPES)
def test_shapes_meet_as_numpys_do(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    try:
        expected = np.broadcast_shapes(left, right)
    except ValueError:
        with pytest.raises(TensorShapeError):
            broadcast_shape(left, right)
        return
    assert broadcast_shape(left, right) == expected
    for shape in (left, right):
        numbered = np.arange(np.prod(shape)).reshape(shape, order="F")
        repeated = np.broadcast_to(numbered, expected).flatten(order="F")
        assert broadcast_positions(shape, expected) == list(repeated)


@given(SHAPES, SHAPES)
def test_nested_modes_meet_as_flat_ones(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    """Bracketing the last modes of both shapes changes nothing but the brackets."""
    rank = max(len(left), len(right))
    left, right = ((1,) * (rank - len(shape)) + shape for shape in (left, right))
    try:
        flat = broadcast_shape(left, right)
    except TensorShapeError:
        with pytest.raises(TensorShapeError):
            broadcast_shape((left[:1], left[1:]), (right[:1], right[1:]))
        return
    nested = broadcast_shape((left[:1], left[1:]), (right[:1], right[1:]))
    assert broadcast_positions((left[:1], left[1:]), nested) == broadcast_positions(left, flat)


# reductions -------------------------------------------------------------------------------------------------------
@given(SHAPES, st.data())
def test_a_plan_reduces_what_numpy_reduces(shape: tuple[int, ...], data: st.DataObject) -> None:
    reduced = [data.draw(st.booleans()) for _ in shape]
    plan = plan_reduction(shape, tuple(0 if drop else None for drop in reduced))
    values = np.arange(np.prod(shape)).reshape(shape, order="F")
    axes = tuple(axis for axis, drop in enumerate(reduced) if drop)
    expected = values.sum(axis=axes).flatten(order="F")
    folded = values.flatten(order="F")[list(plan.positions)].reshape(plan.reduced_count, plan.kept_count).sum(axis=0)
    assert list(folded) == list(expected)
    assert plan.kept == expected_shape(shape, reduced)


def expected_shape(shape: tuple[int, ...], reduced: list[bool]) -> tuple[int, ...]:
    return tuple(extent for extent, drop in zip(shape, reduced, strict=True) if not drop)


def folded(start: np.float32, numbers: list[np.float32]) -> np.float32:
    """The order that the language promises, in plain Python."""
    waiting = []
    while len(numbers) > 1:
        if len(numbers) % 2:
            waiting.append(numbers.pop())
        half = len(numbers) // 2
        numbers = [a + b for a, b in zip(numbers[:half], numbers[half:], strict=True)]
    total = numbers[0]
    for last in waiting:
        total = total + last
    return start + total


@pytest.mark.parametrize("count", [1, 2, 3, 5, 7, 8, 13, 31])
def test_a_sum_rounds_in_the_promised_order(count: int) -> None:
    numbers = np.random.default_rng(count).standard_normal(count).astype(np.float32) * np.float32(1e3)
    total = evaluated(lambda x: x.reduce(ReductionOp.ADD, 0.1, 0), (numbers.tolist(), count, tt.Float32))
    assert total == [float(folded(np.float32(0.1), list(numbers)))]


NUMPY: dict[ReductionOp, tuple[Any, int]] = {
    ReductionOp.ADD: (np.sum, 0),
    ReductionOp.MUL: (np.prod, 1),
    ReductionOp.MAX: (np.max, -100),
    ReductionOp.MIN: (np.min, 100),
}


@pytest.mark.parametrize("op", NUMPY)
@pytest.mark.parametrize(
    ("shape", "profile", "flat", "axes"),
    [
        ((2, 3), (None, 0), (2, 3), 1),
        ((3, 2, 2), (0, None, 0), (3, 2, 2), (0, 2)),
        (((2, 2), 3), (None, 0), (2, 2, 3), 2),
        (((2, 2), 3), ((0, None), None), (2, 2, 3), 0),
        ((5,), 0, (5,), 0),
    ],
)
def test_a_reduction_is_numpys(op: ReductionOp, shape: Any, profile: Any, flat: Any, axes: Any) -> None:
    values = np.random.default_rng(7).integers(-9, 10, flat)
    function, start = NUMPY[op]
    found = evaluated(lambda x: x.reduce(op, start, profile), (values.flatten(order="F").tolist(), shape, tt.Int64))
    assert found == list(function(values, axis=axes).flatten(order="F"))


def test_the_elements_of_a_tensor_are_those_it_was_made_of() -> None:
    @tt.jit
    def made(a: tt.Int32, b: tt.Int32) -> Any:
        x = TensorSSA.from_elements([a, b, 7], tt.Int32)
        return x[0], x[1], x[2]

    assert made(3, 4) == (3, 4, 7)
