"""Structs of C as arguments, by the protocol of public programs: where they lie, and what their MLIR types are."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.compat.mlir_builders import ir
from triptych.compat.mlir_builders.dialects import llvm


class Matrix(ctypes.Structure):
    """What another library has."""

    _fields_ = (("data", ctypes.c_void_p), ("shape", ctypes.c_int32 * 2), ("stride", ctypes.c_int32 * 2))


class MatrixValue(ir.Value):
    """The struct in the program."""

    @property
    def data(self) -> Any:
        return cute.make_ptr(tt.Float32, llvm.extractvalue(llvm.PointerType.get(), self, [0]))

    def numbers(self, field: int) -> Any:
        pair = llvm.extractvalue(llvm.StructType.get_literal([ir.IntegerType.get_signless(32)] * 2), self, [field])
        return tuple(llvm.extractvalue(ir.IntegerType.get_signless(32), pair, [i]) for i in range(2))


class MatrixArgument:
    """The struct of another library as an argument."""

    def __init__(self, matrix: Matrix, missing_type: bool = False) -> None:
        self.matrix = ctypes.addressof(matrix)
        self.missing_type = missing_type

    def __c_pointers__(self) -> list[int]:
        return [self.matrix]

    def __get_mlir_types__(self) -> list[Any]:
        pair = llvm.StructType.get_literal([ir.IntegerType.get_signless(32)] * 2)
        return [] if self.missing_type else [llvm.StructType.get_literal([llvm.PointerType.get(), pair, pair])]

    def __new_from_mlir_values__(self, values: list[Any]) -> MatrixValue:
        return MatrixValue(values[0])


class Number:
    """A number of C, whose type is another when the object is."""

    def __init__(self, cell: Any, wide: bool) -> None:
        self.cell = ctypes.c_void_p(ctypes.addressof(cell))
        self.wide = wide

    def __c_pointers__(self) -> list[Any]:
        return [self.cell]

    def __get_mlir_types__(self) -> list[Any]:
        return [ir.F64Type.get() if self.wide else ir.F32Type.get()]

    def __new_from_mlir_values__(self, values: list[Any]) -> Any:
        return values[0]


@tt.jit
def total(matrix: Any) -> Any:
    tensor = cute.make_tensor(matrix.data, cute.make_layout(matrix.numbers(1), stride=matrix.numbers(2)))
    found = tt.Float32(0)
    for i in range(tensor.shape[0]):
        for j in range(tensor.shape[1]):
            found += tensor[i, j] * tt.Float32(10 * i + j)
    return found


def struct_of(array: Any) -> Matrix:
    strides = [stride // array.itemsize for stride in array.strides]
    return Matrix(array.ctypes.data, (ctypes.c_int32 * 2)(*array.shape), (ctypes.c_int32 * 2)(*strides))


def expected(array: Any) -> float:
    rows, columns = array.shape
    return float((array * (10 * np.arange(rows)[:, None] + np.arange(columns))).sum())


def test_struct_is_read_when_the_function_is_called() -> None:
    numbers = np.arange(12, dtype=np.float32).reshape(3, 4)
    struct, transposed = struct_of(numbers), struct_of(numbers.T)
    compiled = tt.compile(total, MatrixArgument(struct))
    assert compiled(MatrixArgument(struct)) == expected(numbers)
    assert compiled(MatrixArgument(transposed)) == expected(numbers.T)
    struct.shape[0] = 2
    assert compiled(MatrixArgument(struct)) == expected(numbers[:2])


def test_number_of_c_is_a_number_of_its_type() -> None:
    @tt.jit
    def third(x: Any) -> Any:
        return x / 3

    single, double = ctypes.c_float(1), ctypes.c_double(1)
    assert third(Number(single, wide=False)) == np.float32(1) / np.float32(3)
    assert third(Number(double, wide=True)) == 1 / 3


def test_address_without_a_type_is_an_error() -> None:
    with pytest.raises(TypeError, match="__get_mlir_types__"):
        tt.compile(total, MatrixArgument(struct_of(np.zeros((2, 2), np.float32)), missing_type=True))


def test_struct_has_no_address_in_it() -> None:
    @tt.jit
    def wrong(matrix: Any) -> None:
        cute.make_ptr(tt.Float32, matrix)

    with pytest.raises(ValueError, match="no address"):
        tt.compile(wrong, MatrixArgument(struct_of(np.zeros((2, 2), np.float32))))
