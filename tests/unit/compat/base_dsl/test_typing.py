"""`cutlass.base_dsl.typing`: vectors in registers, the protocol of a program's own types, classes of floats."""

from __future__ import annotations

from types import new_class
from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.compat.base_dsl.typing import FloatMeta, Vector, get_c_pointers, get_mlir_types
from triptych.compat.mlir_builders.bit_casts import bitcast
from triptych.compat.mlir_builders.types import T
from triptych.cute.runtime import from_dlpack
from triptych.metastage.trace.errors import OperandTypeError


@tt.kernel
def packed_kernel(x: cute.Tensor, bits: cute.Tensor, back: cute.Tensor) -> None:
    t, _, _ = cute.arch.thread_idx()
    pair = Vector.from_elements((x[t, 0], x[t, 1]), tt.Float32)
    whole = pair.bitcast(tt.Int64).to_elements()[0]
    bits[t] = whole
    first, second = Vector.from_elements((whole,), tt.Int64).bitcast(tt.Float32).to_elements()
    back[t, 0], back[t, 1] = second, tt.Float32(bitcast(bitcast(first, T.i32()), T.f32()))


@tt.jit
def packed(x: cute.Tensor, bits: cute.Tensor, back: cute.Tensor) -> None:
    packed_kernel(x, bits, back).launch(grid=1, block=32)


def test_a_pair_as_one_number_and_back() -> None:
    x = np.arange(64, dtype=np.float32).reshape(32, 2)
    bits, back = np.zeros(32, np.int64), np.zeros((32, 2), np.float32)
    packed(from_dlpack(x), from_dlpack(bits), from_dlpack(back))
    np.testing.assert_array_equal(bits, x.view(np.int64)[:, 0])
    np.testing.assert_array_equal(back, x[:, ::-1])


@tt.jit
def narrowed() -> Any:
    return Vector.from_elements((tt.Int32(1),), tt.Int32).bitcast(tt.Int64).to_elements()[0]


def test_bits_are_whole_numbers() -> None:
    with pytest.raises(OperandTypeError, match="32 bits as numbers of 64"):
        narrowed()


@tt.jit
def count(pair: Any) -> Any:
    return len(get_mlir_types(pair)), str(get_mlir_types(pair)[1])


class Given:
    """Says its parts itself."""

    def __c_pointers__(self) -> list[int]:
        return [1, 2]


def test_what_objects_are_made_of() -> None:
    assert count((tt.Int32(1), tt.Float32(2.0))) == (2, "f32")
    assert get_c_pointers(Given()) == [1, 2]
    assert get_c_pointers(3.0) == [3.0]


def test_classes_of_floats_are_those_of_the_language() -> None:
    with pytest.raises(OperandTypeError, match="`Complex64` is a class of numbers of the program's own"):
        new_class("Complex64", (tt.Float32,), {"metaclass": FloatMeta, "width": 64})
