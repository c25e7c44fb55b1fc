"""Builder calls of arithmetic, of vectors in registers and of bits, compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.compat.mlir_builders import ir, types
from triptych.compat.mlir_builders.dialects import arith, llvm, math, vector
from triptych.cutlass_dsl import T
from triptych.metastage.trace.errors import OperandTypeError

LEFT, RIGHT = np.array([-7, 100, 3, -(1 << 31) + 1], np.int32), np.array([2, -9, 3, 5], np.int32)
UNSIGNED = [x.view(np.uint32).astype(np.int64) for x in (LEFT, RIGHT)]


def truncated(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> Any:
    return np.trunc(a / b).astype(np.int64)


WHOLE: dict[str, Any] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "divsi": truncated,
    "remsi": np.fmod,
    "maxsi": np.maximum,
    "minsi": np.minimum,
    "divui": lambda a, b: UNSIGNED[0] // UNSIGNED[1],
    "remui": lambda a, b: UNSIGNED[0] % UNSIGNED[1],
    "maxui": lambda a, b: np.maximum(*UNSIGNED),
    "minui": lambda a, b: np.minimum(*UNSIGNED),
    "shli": lambda a, b: a << (b & 7),
    "shrsi": lambda a, b: a >> (b & 7),
    "shrui": lambda a, b: UNSIGNED[0] >> (b & 7),
}
FLOATS: dict[str, Any] = {
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "remf": np.fmod,
    "maxnumf": np.fmax,
    "minnumf": np.fmin,
    "maximumf": np.maximum,
    "minimumf": np.minimum,
}


@tt.jit
def applied(name: tt.Constexpr[str], a: cute.Tensor, b: cute.Tensor, out: cute.Tensor) -> None:
    """On numbers in the first half, on vectors in the second."""
    build = getattr(arith, name)
    for i in tt.range_constexpr(4):
        right = b[i] & 7 if name.startswith("sh") else b[i]
        out[i] = build(a[i].ir_value(), right.ir_value(), loc=None, ip=None)
    vectors = [cute.make_tensor(x.iterator, 4).load() for x in (a, b)]
    right = (vectors[1] & 7) if name.startswith("sh") else vectors[1]
    found = build(vectors[0].ir_value(), right.ir_value())
    cute.make_tensor(out.iterator + 4, 4).store(cute.TensorSSA(found, 4, a.element_type))


@pytest.mark.parametrize("name", [*WHOLE, *FLOATS])
def test_operations_of_two_numbers(name: str) -> None:
    kind: Any = np.float32 if name in FLOATS else np.int32
    a, b = (LEFT, RIGHT) if name in WHOLE else (LEFT.astype(kind), np.array([2, -9, np.nan, 5], kind))
    out = np.zeros(8, kind)
    applied(name, np.ascontiguousarray(a), b, out)
    table = WHOLE | FLOATS
    wide = [x.astype(np.int64) for x in (a, b)] if name in WHOLE else [a, b]
    expected = np.asarray(table[name](*wide)).astype(kind)
    np.testing.assert_array_equal(out, np.concatenate([expected, expected]))


@tt.jit
def converted(n: tt.Int32, x: tt.Float32) -> Any:
    bits = arith.bitcast(T.i32(), x)
    wide = arith.ori(
        arith.extui(types.i64(), bits),
        arith.shli(arith.extui(types.i64(), n.ir_value()), arith.constant(T.i64(), 32)),
    )
    low, high = arith.trunci(T.i32(), wide), arith.trunci(T.i32(), arith.shrui(wide, arith.constant(T.i64(), 32)))
    return (
        tt.Float32(arith.bitcast(T.f32(), low)),
        tt.Int32(high),
        tt.Int64(arith.extsi(T.i64(), n)),
        tt.Int64(arith.extui(T.i64(), n)),
        tt.Float32(arith.sitofp(T.f32(), n)) + tt.Float32(arith.uitofp(T.f32(), tt.Int32(2).ir_value())),
        tt.Int32(arith.fptosi(T.i32(), arith.negf(arith.truncf(T.f32(), arith.extf(T.f64(), x))))),
        tt.Int32(arith.select(n > 0, n, tt.Int32(-1))),
    )


def test_conversions_and_constants() -> None:
    assert converted(-5, 2.5) == (2.5, -5, -5, (1 << 32) - 5, -3.0, -2, -1)
    assert converted(7, -2.5) == (-2.5, 7, 7, 7, 9.0, 2, 7)


@tt.jit
def parts(x: cute.Tensor, n: tt.Int32, out: cute.Tensor) -> None:
    row = cute.make_tensor(x.iterator, 4).load().ir_value()
    kind = ir.VectorType(row.type)
    made = llvm.mlir_undef(ir.VectorType.get([kind.shape[0]], tt.Float32.mlir_type, loc=None))
    for i in tt.range_constexpr(4):
        at = arith.constant(tt.Int32.mlir_type, i)
        made = vector.insertelement(
            vector.extractelement(row, position=at), made, position=arith.constant(T.i32(), 3 - i)
        )
    made = vector.insert(tt.Float32(9.0).ir_value(), made, dynamic_position=[], static_position=[0])
    for i in tt.range_constexpr(4):
        out[i] = tt.Float32(vector.extract(made, [], [i]))
    out[4] = tt.Float32(vector.extractelement(row, position=n.ir_value()))
    words = llvm.bitcast(T.vector(2, T.i64()), row)
    back = llvm.bitcast(T.vector(4, T.f32()), words)
    out[5] = cute.TensorSSA(back, 4, tt.Float32)[1]
    out[6] = tt.Float32(tt.Int32(llvm.intr_ctlz(n.ir_value(), False)))
    pair = llvm.bitcast(T.vector(2, tt.Float16.mlir_type), tt.Float32(1.5).ir_value())
    out[7] = tt.Float32(llvm.bitcast(T.f32(), pair))


def test_vectors_and_bits() -> None:
    x, out = np.array([1.5, -2.0, 3.0, 4.0], np.float32), np.zeros(8, np.float32)
    parts(x, 2, out)
    assert out.tolist() == [9.0, 3.0, -2.0, 1.5, 3.0, -2.0, 30.0, 1.5]


@pytest.mark.parametrize(
    ("act", "title"),
    [
        (lambda n: arith.addi(n.ir_value(), tt.Int64(1).ir_value()), "two values of one type"),
        (lambda n: arith.constant(T.i32(), 1.5), "a number of its type"),
        (lambda n: vector.insertelement(n, cute.full(4, 0, tt.Int32), position=n), "one place that is known now"),
    ],
)
def test_what_has_no_meaning_is_refused(act: Any, title: str) -> None:
    @tt.jit
    def mistaken(n: tt.Int32) -> None:
        act(n)

    with pytest.raises(OperandTypeError, match=title):
        mistaken(1)


def test_no_type_of_vectors() -> None:
    @tt.jit
    def mistaken() -> None:
        ir.VectorType(T.i32())

    with pytest.raises(ValueError, match="no type of vectors"):
        mistaken()


@tt.jit
def magnitudes(x: cute.Tensor, out: cute.Tensor) -> None:
    four = cute.make_rmem_tensor(4, tt.Int32)
    for i in tt.range_constexpr(4):
        four[i] = x[i]
    numbers: Any = four.load()
    four.store(cute.TensorSSA(math.absi(numbers), (4,), tt.Int32))
    for i in tt.range_constexpr(3):
        out[i] = four[i]
    out[3] = math.absi(x[3])


def test_whole_numbers_without_their_sign() -> None:
    out = np.zeros(4, np.int32)
    magnitudes(LEFT, out)
    assert out.tolist() == np.abs(LEFT).tolist()
