"""Tensor values: their elements, shapes, types and operators, and how they cross control flow."""

from __future__ import annotations

import operator
from typing import Any

import pytest

import triptych as tt
from tests.support.tensor_values import evaluated
from triptych.cute.tensors.value import TensorSSA
from triptych.cute.tensors.value_functions import all_, any_, empty_like, full, full_like, ones_like, where, zeros_like
from triptych.cute.tracing.errors import StaticTensorError, TensorIndexError, TensorShapeError, TensorTruthError
from triptych.diagnostics.runtime_errors import DivisionByZeroError, OutOfBoundsError
from triptych.layout import LayoutError
from triptych.metastage.trace.errors import CarriedTypeError, JoinTypeError, LeakedValueError, OperandTypeError
from triptych.support.config import override

SIX = (range(6), (2, 3), tt.Int32)
"""[[0, 2, 4], [1, 3, 5]]: the first mode is the fastest."""


# elements ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("coord", "expected"),
    [
        (4, [4]),
        ((1, 2), [5]),
        ((None, 1), [2, 3]),
        ((1, None), [1, 3, 5]),
        ((None, None), [0, 1, 2, 3, 4, 5]),
        (None, [0, 1, 2, 3, 4, 5]),
    ],
)
def test_a_static_coordinate_chooses_elements(coord: Any, expected: list[int]) -> None:
    assert evaluated(lambda x: x[coord], SIX) == expected


def test_a_hierarchical_shape_takes_coordinates_of_any_depth() -> None:
    tensor = (range(8), ((2, 2), 2), tt.Int32)
    assert evaluated(lambda x: (x[(1, 1), 1], x[3, 1], x[7], x[(None, 1), 0]), tensor) == [7, 7, 7, 2, 3]


def test_a_part_has_the_shape_of_what_is_kept() -> None:
    shapes = []

    def parts(x: Any) -> Any:
        shapes.extend([x[None, 1].shape, x[1, None].shape, x[None, None].shape])
        return x

    evaluated(parts, SIX)
    assert shapes == [(2,), (3,), (2, 3)]


def test_a_run_time_index_reads_an_element() -> None:
    @tt.jit
    def read(i: tt.Int32, j: tt.Int32) -> Any:
        x = TensorSSA.from_elements([10, 11, 12, 13, 14, 15], tt.Int32, (2, 3))
        return x[i], x[1, j]

    assert [read(i, i // 2) for i in range(6)] == [(10 + i, 11 + i // 2 * 2) for i in range(6)]


def test_debug_builds_check_a_run_time_index() -> None:
    def read(i: tt.Int32) -> Any:
        return TensorSSA.from_elements([1, 2, 3], tt.Int32)[i]

    with override(debug="bounds"):
        compiled = tt.compile(read, 0)
    assert compiled(2) == 3
    with pytest.raises(OutOfBoundsError, match="outside"):
        compiled(3)


@pytest.mark.parametrize("coord", [6, -1, (2, 0), (0, 3), (None, 3)])
def test_a_static_coordinate_outside_is_an_error(coord: Any) -> None:
    with pytest.raises(TensorIndexError):
        evaluated(lambda x: x[coord], SIX)


def test_a_coordinate_of_another_rank_is_an_error() -> None:
    with pytest.raises(LayoutError):
        evaluated(lambda x: x[0, 0, 0], SIX)


def test_a_part_is_not_chosen_at_run_time() -> None:
    def read(i: tt.Int32) -> Any:
        return full((2, 3), 1.0, tt.Float32)[None, i][0]

    with pytest.raises(StaticTensorError, match="while tracing"):
        tt.compile(read, 0)


# shapes -----------------------------------------------------------------------------------------------------------
def test_reshape_keeps_the_order_of_elements() -> None:
    assert evaluated(lambda x: x.reshape((3, 2))[None, 1], SIX) == [3, 4, 5]


def test_reshape_keeps_the_number_of_elements() -> None:
    with pytest.raises(TensorShapeError, match="6 elements"):
        evaluated(lambda x: x.reshape((4, 2)), SIX)


def test_a_row_and_a_column_meet_in_a_matrix() -> None:
    row, column = ([0.0, 1.0, 2.0], (1, 3), tt.Float32), ([0.0, 1.0, 2.0, 3.0], (4, 1), tt.Float32)
    expected = [float(i + j) for j in range(3) for i in range(4)]
    assert evaluated(lambda a, c: a + c, row, column) == expected
    assert evaluated(lambda a: a.broadcast_to((4, 3)), row) == [float(j) for j in range(3) for _ in range(4)]


def test_missing_modes_are_added_in_front() -> None:
    assert evaluated(lambda x, y: x + y, SIX, ([10, 20, 30], (3,), tt.Int32)) == [10, 11, 22, 23, 34, 35]


@pytest.mark.parametrize(("count", "shape"), [(8, (4, 2)), (6, (6,)), (2, (2,))])
def test_shapes_that_do_not_meet(count: int, shape: Any) -> None:
    with pytest.raises(TensorShapeError, match="do not meet"):
        evaluated(operator.add, SIX, ([1] * count, shape, tt.Int32))


def test_a_shape_is_static() -> None:
    def make(n: Any) -> Any:
        return full((n,), 1.0, tt.Float32)[0]

    with pytest.raises(StaticTensorError, match="known while tracing"):
        tt.compile(make, 4)


# types ------------------------------------------------------------------------------------------------------------
def test_conversion_is_that_of_numbers() -> None:
    assert evaluated(lambda x: x.to(tt.Int8), ([300, -1], 2, tt.Int32)) == [44, -1]
    assert evaluated(lambda x: x.to(tt.Int32), ([1.9, -1.9, 1e20, float("nan")], 4, tt.Float32)) == [
        1,
        -1,
        2**31 - 1,
        0,
    ]
    assert evaluated(lambda x: x.to(tt.Boolean), ([0.0, 2.0], 2, tt.Float32)) == [False, True]
    large = ([1e6, -1e6, 1.5, 70_000.0], 4, tt.Float32)
    assert evaluated(lambda x: x.to(tt.Float16), large) == [float("inf"), -float("inf"), 1.5, float("inf")]
    assert evaluated(lambda x: x.to(tt.Float16, saturate=True), large) == [65504.0, -65504.0, 1.5, 65504.0]
    narrow = evaluated(lambda x: x.to(tt.Float8E4M3FN, saturate=True).to(tt.Float32), large)
    assert narrow == [448.0, -448.0, 1.5, 448.0]


def test_bitcast_keeps_the_shape_for_an_equal_width() -> None:
    def bits(x: Any) -> Any:
        y = x.bitcast(tt.Int32)
        assert y.shape == (2, 1)
        return y

    assert evaluated(bits, ([1.0, -2.0], (2, 1), tt.Float32)) == [0x3F800000, -0x40000000]


def test_bitcast_counts_the_elements_again_for_another_width() -> None:
    def halves(x: Any) -> Any:
        y = x.bitcast(tt.Uint16)
        assert y.shape == (4,)
        return y

    assert evaluated(halves, ([0x00020001, 0x00040003], (2,), tt.Int32)) == [1, 2, 3, 4]
    assert evaluated(lambda x: x.bitcast(tt.Int64), ([1, 2], (2,), tt.Int32)) == [(2 << 32) + 1]


def test_bitcast_needs_a_whole_number_of_elements() -> None:
    with pytest.raises(TensorShapeError, match="no whole number"):
        evaluated(lambda x: x.bitcast(tt.Int64), ([1, 2, 3], (3,), tt.Int32))


def test_booleans_are_stored_as_bytes() -> None:
    types = []

    def stored(x: Any) -> Any:
        types.append(str((x > 0).ir_value_int8().type))
        return x

    evaluated(stored, ([1, 0], 2, tt.Int32))
    assert types == ["vector<2xi8>"]


# operators --------------------------------------------------------------------------------------------------------
def test_an_operator_is_one_vector_operation() -> None:
    def add(a: tt.Float32) -> Any:
        x = full(8, a, tt.Float32)
        return (x + x)[0]

    assert tt.compile(add, 1.0).mlir.count("arith.addf") == 1


def test_floor_division_and_modulo_have_pythons_signs() -> None:
    numbers = [-7, 7, -7, 7]
    assert evaluated(lambda x: (x // 3, x % 3), (numbers, 4, tt.Int32)) == [n // 3 for n in numbers] + [
        n % 3 for n in numbers
    ]


def test_dividing_one_element_by_zero_raises() -> None:
    with pytest.raises(DivisionByZeroError):
        evaluated(lambda x, y: x // y, ([1, 2], 2, tt.Int32), ([1, 0], 2, tt.Int32))
    with pytest.raises(ZeroDivisionError):
        evaluated(lambda x: x % 0, ([1, 2], 2, tt.Int32))


def test_tilde_negates_booleans_and_turns_bits() -> None:
    assert evaluated(lambda x: (~(x > 1), ~x), ([1, 2], 2, tt.Int32)) == [True, False, -2, -3]
    assert evaluated(lambda x: ~x, ([0, 255], 2, tt.Uint8)) == [255, 0]


def test_powers() -> None:
    assert evaluated(lambda x: (x**0, x**3), ([2, -3], 2, tt.Int32)) == [1, 1, 8, -27]
    assert evaluated(lambda x: (x**0.5, 2.0**x), ([4.0, 9.0], 2, tt.Float32)) == [2.0, 3.0, 16.0, 512.0]
    with pytest.raises(OperandTypeError, match="ipowi"):
        evaluated(lambda x: x**x, ([2, 3], 2, tt.Int32))


def test_a_number_is_repeated_for_every_element() -> None:
    @tt.jit
    def scaled(a: tt.Float32) -> Any:
        x = TensorSSA.from_elements([1.0, 2.0], tt.Float32)
        left, right = a * x, x * a
        return left[0], left[1], right[0], right[1]

    assert scaled(1.5) == (1.5, 3.0, 1.5, 3.0)


def test_types_meet_as_those_of_numbers() -> None:
    types = []

    def meet(x: Any) -> Any:
        halves = x.to(tt.Float16)
        types.extend(
            [(halves + tt.Float32(1)).dtype, (halves + 1.5).dtype, (x / x).dtype, (x > 1).dtype, (x * 0.5).dtype]
        )
        return x

    evaluated(meet, SIX)
    assert types == [tt.Float32, tt.Float16, tt.Float32, tt.Boolean, tt.Float32]


def test_a_foreign_operand_is_pythons_error() -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        evaluated(lambda x: x + "a", SIX)


def test_apply_op_takes_any_function_of_two() -> None:
    assert evaluated(lambda x: x.apply_op(operator.sub, 1), ([5, 6], 2, tt.Int32)) == [4, 5]
    assert evaluated(lambda x: x.apply_op(operator.sub, 1, flip=True), ([5, 6], 2, tt.Int32)) == [-4, -5]


# choosing ---------------------------------------------------------------------------------------------------------
def test_where_chooses_element_by_element() -> None:
    assert evaluated(lambda x: where(x > 2, x, 0), SIX) == [0, 0, 0, 3, 4, 5]
    assert evaluated(lambda x: where(x > 2, 1.0, 0), SIX) == [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    assert evaluated(lambda x: where(x > 2, x < 4, False), SIX) == [False, False, False, True, False, False]
    assert evaluated(lambda x: where(x[0] == 0, x, -x), SIX) == [0, 1, 2, 3, 4, 5]


def test_any_and_all_ask_the_whole_tensor() -> None:
    assert evaluated(lambda x: (any_(x > 4), any_(x > 5), all_(x >= 0), all_(x)), SIX) == [True, False, True, False]


def test_constructors() -> None:
    made = evaluated(
        lambda x: (full_like(x, 7), zeros_like(x), ones_like(x, tt.Boolean), empty_like(x)), (range(2), 2, tt.Int32)
    )
    assert made[:6] == [7, 7, 0, 0, True, True]
    assert len(made) == 8


# as a value -------------------------------------------------------------------------------------------------------
def test_a_tensor_shows_its_type_and_shape(capsys: pytest.CaptureFixture[str]) -> None:
    @tt.jit
    def show() -> None:
        print(full((3, 4), 1.0, tt.Float32))

    show()
    assert capsys.readouterr().out == "tensor_value<vector<12xf32> o (3, 4)>\n"


def test_a_tensor_crosses_branches_and_loops() -> None:
    @tt.jit
    def steps(n: tt.Int32, a: tt.Float32) -> Any:
        x = TensorSSA.from_elements([a, a + 1.0], tt.Float32)
        for i in range(n):
            if i % 2 == 0:
                x = x * 2.0
            if i % 2 == 1:
                x = x + 1.0
        return x[0], x[1]

    assert steps(3, 1.0) == (6.0, 10.0)


def test_a_tensor_may_be_assigned_on_one_path_only() -> None:
    @tt.jit
    def pick(n: tt.Int32) -> Any:
        found = 0.0
        if n > 0:
            x = full(4, 2.0, tt.Float32)
            found = x[n]
        return found

    assert (pick(1), pick(0)) == (2.0, 0.0)


@pytest.mark.parametrize(("shape", "dtype"), [((4, 2), tt.Int32), ((8,), tt.Uint32), ((4,), tt.Int32)])
def test_a_join_needs_one_shape_and_one_type(shape: Any, dtype: Any) -> None:
    @tt.jit
    def join(n: tt.Int32) -> Any:
        x = full((8,), 1, tt.Int32)
        if n > 0:
            x = full(shape, 1, dtype)
        return x[0]

    with pytest.raises(JoinTypeError):
        join(1)


def test_a_loop_keeps_the_shape() -> None:
    @tt.jit
    def grow(n: tt.Int32) -> Any:
        x = full((1,), 1.0, tt.Float32)
        for _ in range(n):
            x = x.broadcast_to((2,))
        return x[0]

    with pytest.raises(CarriedTypeError):
        grow(1)


def test_a_tensor_is_not_one_truth_value() -> None:
    with pytest.raises(TensorTruthError, match="all_"):
        evaluated(lambda x: x if x > 1 else -x, SIX)


def test_a_tensor_is_not_iterated() -> None:
    with pytest.raises(OperandTypeError, match="not iterated"):
        evaluated(lambda x: next(iter(x)), SIX)


def test_a_tensor_is_no_key() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        evaluated(lambda x: {x: 1}, SIX)


def test_a_tensor_does_not_leave_its_trace() -> None:
    kept: list[Any] = []

    @tt.jit
    def leak() -> None:
        kept.append(full(2, 1.0, tt.Float32))

    with pytest.raises(LeakedValueError, match="outlives the call"):
        leak()
    with pytest.raises(LeakedValueError):
        kept[0].ir_value()
    with pytest.raises(LeakedValueError):
        full(2, 1.0, tt.Float32)
