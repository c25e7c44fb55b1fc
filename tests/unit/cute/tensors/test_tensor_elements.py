"""Elements of tensors: read and written by coordinate, in every form, at run-time places, in every type."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import triptych as tt
from tests.unit.cute.array_memory import address, over
from triptych import cute
from triptych.cute.tracing.errors import (
    ElementTypeError,
    PartialByteError,
    StaticTensorError,
    TensorIndexError,
    TensorShapeError,
)


def test_every_form_of_a_coordinate_names_the_element() -> None:
    @tt.jit
    def read(a: tt.Int64, i: tt.Int32, j: tt.Int32) -> Any:
        t = over(a, cute.make_layout((4, (2, 4)), stride=(8, (4, 1))))
        return t[i, j], t[i, (j % 2, j // 2)], t[i + 4 * j], t[i, 5], t[3, (1, 2)]

    numbers = np.arange(32, dtype=np.float32)
    place = [(j % 2) * 4 + j // 2 for j in range(8)]
    assert read(address(numbers), 2, 5) == (16 + place[5], 16 + place[5], 16 + place[5], 16 + place[5], 24 + 4 + 2)


def test_elements_are_written_where_they_are_read() -> None:
    @tt.jit
    def write(a: tt.Int64, i: tt.Int32) -> None:
        t = over(a, cute.make_layout((4, 4), stride=(4, 1)))
        t[i, 1] = t[i, 0] + 1.0
        t[0, i] += 2

    numbers = np.arange(16, dtype=np.float32)
    write(address(numbers), 3)
    expected = np.arange(16, dtype=np.float32).reshape(4, 4)
    expected[3, 1] = 13
    expected[0, 3] += 2
    assert (numbers.reshape(4, 4) == expected).all()


def test_a_part_is_a_view_of_the_same_memory() -> None:
    @tt.jit
    def negate(a: tt.Int64, i: tt.Int32) -> Any:
        t = over(a, cute.make_layout((3, (2, 4), 5), stride=(40, (20, 5), 1)))
        part = t[1, (i, None), None]
        assert str(part.layout) == "(4,5):(5,1)"
        part[2, 3] = -1.0
        part[None, 4] = 7
        return part[3, 1]

    numbers = np.arange(120, dtype=np.float32)
    assert negate(address(numbers), 1) == 40 + 20 + 15 + 1
    cube = numbers.reshape(3, 2, 4, 5)
    assert cube[1, 1, 2, 3] == -1
    assert (cube[1, 1, :, 4] == 7).all()
    assert (cube[0].ravel() == np.arange(40)).all()


def test_run_time_shapes_and_strides() -> None:
    @tt.jit
    def walk(a: tt.Int64, m: tt.Int32, n: tt.Int32, i: tt.Int32) -> Any:
        t = over(a, cute.make_layout((m, n), stride=(n, 1)))
        rows, columns = t.shape
        return t[i, columns - 1], t[rows - 1, 0], t[i + rows], cute.size(t), t.stride[0], cute.cosize(t)

    numbers = np.arange(35, dtype=np.float32)
    assert walk(address(numbers), 5, 7, 2) == (20.0, 28.0, 15.0, 35, 7, 35)


def test_a_number_out_of_the_algebra_goes_back_as_what_it_was() -> None:
    @tt.jit
    def again(n: tt.Int32) -> Any:
        layout = cute.make_layout((cute.assume(n, 4), 2))
        rows = cute.size(layout, mode=[0])
        assert cute.make_layout((rows, 2)) == layout
        return cute.size(layout)

    assert again(12) == 24


def test_fill_load_and_store_of_registers() -> None:
    @tt.jit
    def work(x: tt.Float32) -> Any:
        r = cute.make_rmem_tensor((2, 3), tt.Float32)
        r.fill(x)
        r[1, 2] = 10.0
        s = cute.make_rmem_tensor((2, 3), tt.Float32)
        s.store(r.load() + r.load())
        return s[0, 0], s[1, 2]

    assert work(1.5) == (3.0, 20.0)


def test_registers_made_in_a_loop_are_one_slot() -> None:
    def work(n: tt.Int32) -> Any:
        total = 0
        for i in range(n):
            r = cute.make_rmem_tensor((4,), tt.Int32)
            r.fill(i)
            total += r[3]
        return total

    module = tt.compile(work, 1).mlir
    assert module.index("llvm.alloca") < module.index("scf.for")
    assert tt.compile(work, 1)(5) == 10


def test_a_tensor_of_coordinates() -> None:
    @tt.jit
    def coordinates(i: tt.Int32, n: tt.Int32) -> Any:
        tiles = cute.zipped_divide(cute.make_identity_tensor((n, 8)), (2, 4))
        part = tiles[(None, None), (i, 1)]
        row, column = part[1, 2]
        return row, column, cute.elem_less((row, column), (n, 8)), cute.elem_less((0, 7), (1, 8))

    assert coordinates(3, 8) == (7, 6, True, True)
    assert coordinates(4, 8) == (9, 6, False, True)


def test_a_coordinate_tensor_of_one_mode_counts() -> None:
    @tt.jit
    def count(i: tt.Int32) -> Any:
        return cute.make_identity_tensor(8)[i]

    assert count(5) == 5


TYPES: list[tuple[Any, Any]] = [
    (tt.Boolean, np.bool_),
    (tt.Int8, np.int8),
    (tt.Uint16, np.uint16),
    (tt.Int32, np.int32),
    (tt.Uint64, np.uint64),
    (tt.Float16, np.float16),
    (tt.BFloat16, ml_dtypes.bfloat16),
    (tt.Float32, np.float32),
    (tt.Float64, np.float64),
    (tt.Float8E4M3FN, ml_dtypes.float8_e4m3fn),
    (tt.Float8E5M2, ml_dtypes.float8_e5m2),
    (tt.Float8E8M0FNU, ml_dtypes.float8_e8m0fnu),
]


@pytest.mark.parametrize(("dtype", "numpy_type"), TYPES, ids=lambda kind: kind.__name__)
def test_every_type_goes_through_memory_unchanged(dtype: Any, numpy_type: Any) -> None:
    @tt.jit
    def copy(a: tt.Int64, b: tt.Int64, i: tt.Int32) -> None:
        source, target = (over(where, cute.make_layout((8,)), dtype) for where in (a, b))
        registers = cute.make_rmem_tensor((8,), dtype)
        registers.store(source.load())
        target.store(registers.load())
        registers[i] = source[7]
        target[0] = registers[i]

    bits = np.random.default_rng(1).integers(0, 256, 8 * np.dtype(numpy_type).itemsize, np.uint8)
    source = (bits & 1).view(np.bool_) if numpy_type is np.bool_ else bits.view(numpy_type)
    target = np.zeros(8, numpy_type)
    copy(address(source), address(target), 3)
    expected = source.copy()
    expected[0] = source[7]
    kept = [expected.view(np.uint8), target.view(np.uint8)]
    if np.dtype(numpy_type).kind not in "biu":
        nan = np.isnan(expected.astype(np.float64))
        assert (np.isnan(target.astype(np.float64)) == nan).all()
        kept = [part.reshape(8, -1)[~nan] for part in kept]
    assert (kept[0] == kept[1]).all()


PACKED: list[tuple[Any, int]] = [(tt.Int4, 4), (tt.Float4E2M1FN, 4), (tt.Float6E3M2FN, 6), (tt.Float6E2M3FN, 6)]


@pytest.mark.parametrize(("dtype", "width"), PACKED, ids=lambda kind: getattr(kind, "__name__", kind))
def test_packed_elements_lie_little_endian(dtype: Any, width: int) -> None:
    """Element i of a word is its bits from i * width; vectors, single reads and single register writes agree."""

    @tt.jit
    def copy(a: tt.Int64, b: tt.Int64, c: tt.Int64, i: tt.Int32) -> None:
        source, target = (over(where, cute.make_layout((16,)), dtype) for where in (a, b))
        target.store(source.load())
        registers = cute.make_rmem_tensor((16,), dtype)
        registers.store(source.load())
        for k in range(16):
            registers[15 - k] = source[k]
        registers[0] = source[i]
        over(c, cute.make_layout((16,)), dtype).store(registers.load())

    values = np.random.default_rng(2).integers(0, 1 << width, 16)
    if dtype is tt.Float6E3M2FN:
        values &= 0x3B  # no pattern is a NaN in these types; keep clear of the largest exponent anyway
    source = packed(values, width)
    target, reversed_ = np.zeros_like(source), np.zeros_like(source)
    copy(address(source), address(target), address(reversed_), 9)
    assert (target == source).all()
    expected = values[::-1].copy()
    expected[0] = values[9]
    assert (reversed_ == packed(expected, width)).all()


def packed(values: np.ndarray[Any, Any], width: int) -> np.ndarray[Any, Any]:
    """An oracle with Python's integers."""
    word = sum(int(value) << (width * i) for i, value in enumerate(values))
    return np.frombuffer(word.to_bytes(len(values) * width // 8, "little"), np.uint8).copy()


def test_one_element_of_a_byte_is_not_written_to_shared_memory() -> None:
    @tt.jit
    def write(a: tt.Int64) -> None:
        over(a, cute.make_layout((8,)), tt.Int4)[0] = 1

    with pytest.raises(PartialByteError, match="part of a byte"):
        write(0)


@pytest.mark.parametrize("coord", [8, -1, (4, 0), (0, 2), ((0, 2), 0), (0, -1)])
def test_a_static_index_outside_is_an_error_at_its_line(coord: Any) -> None:
    @tt.jit
    def read() -> Any:
        r = cute.make_rmem_tensor(((2, 2), 2), tt.Float32)
        r.fill(0.0)
        return r[coord]

    with pytest.raises(TensorIndexError, match=r"(?s)outside a mode.*r\[coord\]"):
        read()


@pytest.mark.parametrize(
    ("held", "given"),
    [(tt.Int32, tt.Float32), (tt.Int8, tt.Int32), (tt.Int32, tt.Uint32), (tt.Boolean, tt.Int32)],
    ids=lambda kind: kind.__name__,
)
def test_what_would_change_is_refused(held: Any, given: Any) -> None:
    @tt.jit
    def write(x: Any) -> None:
        r = cute.make_rmem_tensor((4,), held)
        r[0] = x

    with pytest.raises(ElementTypeError, match=f"value.to.{held.__name__}"):
        write(given(1))


@pytest.mark.parametrize(
    ("held", "given"),
    [(tt.Float32, tt.Int32), (tt.Float16, tt.Float32), (tt.Int64, tt.Int32), (tt.Int32, tt.Boolean)],
    ids=lambda kind: kind.__name__,
)
def test_what_stays_the_same_is_converted(held: Any, given: Any) -> None:
    @tt.jit
    def write(x: Any) -> Any:
        r = cute.make_rmem_tensor((4,), held)
        r[0] = x
        return r[0].to(tt.Float32)

    assert write(given(1)) == 1.0


def test_shapes_must_agree() -> None:
    @tt.jit
    def store() -> None:
        source = cute.make_rmem_tensor((4, 2), tt.Float32)
        source.fill(0.0)
        cute.make_rmem_tensor((2, 4), tt.Float32).store(source.load())

    with pytest.raises(TensorShapeError, match=r"\(4,2\)"):
        store()


def test_brackets_and_ones_are_no_other_shape() -> None:
    @tt.jit
    def store() -> Any:
        source = cute.make_rmem_tensor((4, 2), tt.Float32)
        source.fill(3.0)
        target = cute.make_rmem_tensor(((4, 1), (1, 2)), tt.Float32)
        target.store(source.load())
        return target[7]

    assert store() == 3.0


@pytest.mark.parametrize("use", ["fill", "load", "registers"])
def test_whole_tensors_need_static_shapes(use: str) -> None:
    @tt.jit
    def work(a: tt.Int64, n: tt.Int32) -> None:
        t = over(a, cute.make_layout((n, 4)))
        if use == "fill":
            t.fill(0.0)
        elif use == "load":
            t.load()
        else:
            cute.make_rmem_tensor((n,), tt.Float32)

    with pytest.raises(StaticTensorError, match="known while tracing"):
        work(0, 4)


def test_iterating_is_static() -> None:
    @tt.jit
    def total() -> Any:
        r = cute.make_rmem_tensor((2, 2), tt.Int32)
        for i in tt.range_constexpr(4):
            r[i] = i * i
        found = 0
        for x in r:
            found += x
        return found

    assert total() == 14

    @tt.jit
    def endless(a: tt.Int64, n: tt.Int32) -> None:
        for _ in over(a, cute.make_layout((n,))):
            pass

    with pytest.raises(StaticTensorError):
        endless(0, 4)


def test_printing(capfd: Any) -> None:
    @tt.jit
    def show() -> None:
        r = cute.make_rmem_tensor((2, 3), tt.Int32)
        for i in tt.range_constexpr(6):
            r[i] = i
        cute.print_tensor(r)
        cute.print_tensor(cute.make_identity_tensor((2, 2)))

    show()
    shown = capfd.readouterr().out.splitlines()
    assert shown[1:3] == ["       [[ 0,  2,  4, ],", "        [ 1,  3,  5, ]])"]
    assert shown[4:] == ["       [[(0,0), (0,1), ],", "        [(1,0), (1,1), ]])"]


def test_an_index_beyond_modes_before_ones_starts_over() -> None:
    """As programs write rows that two halves of a block have: thread 64 + r writes row r of a tile (64, 1, 1)."""

    @tt.kernel
    def rows(x: cute.Tensor, places: cute.Tensor) -> None:
        i, _, _ = cute.arch.thread_idx()
        tile = cute.local_tile(x, (64, 1, 1), (0, 0, 0))
        tile[i] = i % 64
        places[i] = cute.local_tile(cute.make_identity_tensor(x.shape), (64, 1, 1), (0, 0, 0))[i][2]

    @tt.jit
    def launch(x: cute.Tensor, places: cute.Tensor) -> None:
        rows(x, places).launch(grid=1, block=128)

    x, places = np.full((64, 1, 2), -1, np.int32, order="F"), np.zeros(128, np.int32)
    launch(x, places)
    assert x[:, 0, 0].tolist() == list(range(64))
    assert (x[:, 0, 1] == -1).all()
    assert places.tolist() == [0] * 64 + [1] * 64
