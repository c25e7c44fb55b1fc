"""What public programs do with numbers and their types: sizes of grids, elements of TF32, types that are inspected."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.cute.runtime import from_dlpack
from triptych.cute.tracing.errors import ElementTypeError


@tt.kernel
def rounds(o: cute.Tensor, n: tt.Int32, m: tt.Int32) -> None:
    i, total = tt.Int32(0), tt.Int32(0)
    while i < n:
        i += cute.size(cute.arch.grid_dim())
        total += 1
    o[0], o[1] = total, cute.size((n, m))


@tt.jit
def count(o: cute.Tensor, n: tt.Int32, m: tt.Int32) -> None:
    rounds(o, n, m).launch(grid=(2, 3, 1), block=1)


def test_the_size_of_int32_numbers_is_an_int32_or_reported() -> None:
    o = np.zeros(2, np.int32)
    count(o, 13, 5)
    assert o.tolist() == [3, 65]
    with pytest.raises(ValueError, match="a product of Int32 numbers does not fit in Int32"):
        count(o, 2**20, 2**12)


@tt.kernel
def placed(o: cute.Tensor, n: tt.Int32, m: tt.Int32) -> None:
    tensor = cute.domain_offset((n, m * 4), cute.make_identity_tensor((8, 4)))
    row, column = tensor[5, 2]
    assert isinstance(row, tt.Int64)  # 5 more than the largest Int32 is none
    _, rest = divmod(row, cute.FastDivmodDivisor(m))
    o[0], o[1], o[2] = row, column // 4, n * 3 + (column - column // 4 * 4) - rest


@tt.jit
def place(o: cute.Tensor, n: tt.Int32, m: tt.Int32) -> None:
    placed(o, n, m).launch(grid=1, block=1)


def test_coordinates_of_int32_numbers_are_int32_or_reported() -> None:
    o = np.zeros(3, np.int32)
    place(o, 4, 2)
    assert o.tolist() == [9, 2, 14 - 9 % 2]
    with pytest.raises(ValueError, match="an integer of a layout does not fit in Int32"):
        place(o, 2**31 - 3, 2)


@tt.kernel
def other_words(o: cute.Tensor, n: tt.Int64) -> None:
    o[0] = n + cute.domain_offset((tt.Int32(n) * 8,), cute.make_identity_tensor((8,)))[5][0]


def test_other_numbers_of_64_bits_are_no_int32() -> None:
    @tt.jit
    def call(o: cute.Tensor, n: tt.Int64) -> None:
        other_words(o, n).launch(grid=1, block=1)

    with pytest.raises(ElementTypeError, match="Int64 does not become Int32 by itself"):
        call(np.zeros(1, np.int32), 3)


@tt.kernel
def widened(x: cute.Tensor, y: cute.Tensor) -> None:
    t = cute.arch.thread_idx()[0]
    y[t] = x[t].to(tt.Float32)


@tt.jit
def widen(x: cute.Tensor, y: cute.Tensor) -> None:
    widened(x, y).launch(grid=1, block=2)


def test_the_bytes_of_floats_are_taken_for_tf32() -> None:
    x, y = np.array([1.0, 3.14159265], np.float32), np.zeros(2, np.float32)
    given: Any = from_dlpack(x)
    given.element_type = tt.TFloat32
    assert given.element_type is tt.TFloat32
    widen(given, y)
    assert y.tolist() == [1.0, 3.140625]
    given.element_type = tt.Float32
    widen(given, y)
    assert y.tolist() == x.tolist()


def test_types_of_numbers_can_be_inspected() -> None:
    for cls in (tt.Int32, tt.Float32, tt.Boolean, tt.TFloat32):
        assert inspect.getmembers(cls)
        assert not hasattr(cls, "mlir_type")
        assert inspect.getmembers(cls(1))
