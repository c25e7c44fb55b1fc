"""Values that leave the language by `ir_value()` and come back: numbers, vectors, pointers, tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.compat.mlir_builders import ir
from triptych.compat.mlir_builders.dialects import vector
from triptych.cutlass_dsl import T, extract_mlir_values, new_from_mlir_values
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.values.scalars import NUMERIC_CLASSES

WHOLE = ("Int8", "Int16", "Int32", "Int64", "Uint8", "Uint16", "Uint32", "Uint64")
FLOATS = ("Float16", "BFloat16", "Float32", "Float64")


@tt.jit
def round_trip(n: tt.Int32, kind: tt.Constexpr[Any]) -> Any:
    number = kind(n)
    return kind(number.ir_value()).to(tt.Float64)


@pytest.mark.parametrize("kind", [*WHOLE, *FLOATS, "Boolean"])
def test_a_number_comes_back_as_it_was(kind: str) -> None:
    for n in (-3, 0, 100):
        expected = {"Boolean": bool(n)}.get(kind, n)
        if kind.startswith("Uint"):
            expected = n % (1 << int(kind[4:]))
        assert round_trip(n, NUMERIC_CLASSES[kind]) == float(expected)


@tt.jit
def as_another(n: tt.Int64, source: tt.Constexpr[Any], kind: tt.Constexpr[Any]) -> Any:
    return kind(source(n).ir_value()).to(tt.Int64)


def is_told(source: type[tt.Numeric], kind: type[tt.Numeric]) -> bool:
    """Whether the number that is meant does not depend on a sign that MLIR's type does not tell."""
    return source.is_float or (kind.is_integer and kind.width <= source.width)


@pytest.mark.parametrize("source", [*WHOLE, *FLOATS])
@pytest.mark.parametrize("kind", [*WHOLE, *FLOATS])
def test_a_value_of_another_type_is_converted_or_refused(source: str, kind: str) -> None:
    first, second = NUMERIC_CLASSES[source], NUMERIC_CLASSES[kind]
    if not is_told(first, second):
        with pytest.raises(OperandTypeError, match=f"is no {kind}"):
            as_another(77, first, second)
        return
    assert as_another(77, first, second) == 77


def test_truth_values_are_told() -> None:
    @tt.jit
    def counted(n: tt.Int32) -> Any:
        above = n > 3
        return (
            tt.Int32(above.ir_value()) + 10 * tt.Int32(tt.Boolean(n.ir_value())) + tt.Int32(tt.Uint8(above.ir_value()))
        )

    assert [counted(n) for n in (0, 3, 4)] == [0, 10, 12]


@tt.kernel
def parts(x: cute.Tensor, out: cute.Tensor) -> None:
    i, _, _ = cute.arch.thread_idx()
    out[i, 0] = tt.Float32(tt.Float32(x[i, 0]).ir_value()) + 1.0
    row = cute.make_tensor(x.iterator + i * 4, 4)
    again = cute.TensorSSA(row.load().ir_value(), (2, 2), tt.Float32)
    out[i, 1] = again[1, 1]
    bits = cute.TensorSSA(vector.bitcast(T.vector(4, T.i32()), again.ir_value()), 4, tt.Int32)
    out[i, 2] = tt.Float32(bits[2])
    pointer = cute.make_ptr(tt.Float32, row.iterator.llvm_ptr, cute.AddressSpace.gmem)
    out[i, 3] = (pointer + 3).load() + cute.make_ptr(tt.Float32, row.iterator.ir_value(), cute.AddressSpace.gmem).load()
    like = new_from_mlir_values(row, extract_mlir_values(row))
    out[i, 4] = like[1] + new_from_mlir_values(again, extract_mlir_values(again))[0, 1]


@tt.jit
def host(x: cute.Tensor, out: cute.Tensor) -> None:
    parts(x, out).launch(grid=1, block=32)


def test_vectors_pointers_and_tensors_come_back() -> None:
    x, out = np.arange(128, dtype=np.float32).reshape(32, 4), np.zeros((32, 5), np.float32)
    host(x, out)
    bits = x.view(np.int32).astype(np.float32)
    columns = [x[:, 0] + 1, x[:, 3], bits[:, 2], x[:, 3] + x[:, 0], x[:, 1] + x[:, 2]]
    np.testing.assert_array_equal(out, np.stack(columns, axis=1))


@pytest.mark.parametrize(
    ("make", "title"),
    [
        (lambda x: cute.TensorSSA(x.load().ir_value(), 8, tt.Float32), "made of a vector of its elements"),
        (lambda x: cute.TensorSSA(x.load().ir_value(), 4, tt.Int32), "made of a vector of its elements"),
        (lambda x: cute.TensorSSA(x[0].ir_value(), 1, tt.Float32), "made of a vector of its elements"),
        (lambda x: tt.Float32(x.load().ir_value()), "type vector<4xf32> is no Float32"),
        (lambda x: tt.Float32(x.iterator.ir_value()), "is no Float32"),
        (lambda x: tt.Int32(ir.IntegerType.get_signless(32)), "cannot become Int32"),
    ],
)
def test_what_is_no_such_value_is_refused(make: Any, title: str) -> None:
    @tt.jit
    def mistaken(x: cute.Tensor) -> None:
        make(cute.make_tensor(x.iterator, 4))

    with pytest.raises(OperandTypeError, match=title):
        mistaken(np.zeros(4, np.float32))
