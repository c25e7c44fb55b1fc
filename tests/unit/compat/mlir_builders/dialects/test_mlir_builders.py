"""The builder calls of public programs: inline assembly with structs of results, bits, vectors, fields."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.compat.mlir_builders import ir
from triptych.compat.mlir_builders.dialects import llvm, vector
from triptych.cutlass_dsl import T, dsl_user_op


@dsl_user_op
def both_halves(word: tt.Int32, *, loc: Any = None, ip: Any = None) -> Any:
    struct = llvm.inline_asm(
        ir.Type.parse("!llvm.struct<(f32, f32)>"),
        [word],
        "{ .reg .b16 lo, hi;\n mov.b32 {lo, hi}, $2;\n cvt.f32.f16 $0, lo;\n cvt.f32.f16 $1, hi; }",
        "=f,=f,r",
        has_side_effects=False,
        is_align_stack=False,
        asm_dialect=llvm.AsmDialect.AD_ATT,
        loc=loc,
        ip=ip,
    )
    return tuple(tt.Float32(llvm.extractvalue(T.f32(), struct, [i], loc=loc, ip=ip)) for i in range(2))


@tt.kernel
def kernel(x: cute.Tensor, out: cute.Tensor) -> None:
    i, _, _ = cute.arch.thread_idx()
    low, high = both_halves(x[i])
    out[i, 0] = low
    out[i, 1] = high
    packed = llvm.inline_asm(
        tt.Uint32.mlir_type, [low.ir_value(), high.ir_value()], "cvt.rn.f16x2.f32 $0, $2, $1;", "=r,f,f", asm_dialect=0
    )
    out[i, 2] = tt.Float32(llvm.bitcast(T.f32(), packed))
    llvm.inline_asm(None, [(out.iterator + (i * 5 + 3)).toint().ir_value(), low], "st.global.f32 [$0], $1;", "l,f")
    ones = cute.full((4,), 1.0, tt.Float32)
    bits = cute.TensorSSA(vector.bitcast(T.vector(4, T.i32()), ones), (4,), tt.Int32)
    out[i, 4] = tt.Float32(vector.extract(bits.ir_value(), [], [2])) + tt.Float32(bits[0] == 0x3F800000)


@tt.jit
def host(x: cute.Tensor, out: cute.Tensor) -> None:
    kernel(x, out).launch(grid=1, block=32)


def test_builder_calls_compute_what_they_say() -> None:
    halves = np.arange(64, dtype=np.float16)
    x, out = halves.view(np.int32), np.zeros((32, 5), np.float32)
    host(x, out)
    np.testing.assert_array_equal(out[:, :2], halves.reshape(32, 2))
    np.testing.assert_array_equal(out[:, 2].view(np.int32), x)
    np.testing.assert_array_equal(out[:, 3], halves[::2])
    np.testing.assert_array_equal(out[:, 4], np.float32(0x3F800000) + 1)


def refused(call: Any) -> str:
    @tt.kernel
    def wrong(x: cute.Tensor) -> None:
        call(x[0])

    @tt.jit
    def launch(x: cute.Tensor) -> None:
        wrong(x).launch(grid=1, block=32)

    with pytest.raises(TypeError, match="TT0301") as raised:
        launch(np.zeros(4, np.int32))
    return str(raised.value)


def test_mistakes_with_builder_calls_are_reported() -> None:
    def as_a_whole(word: Any) -> None:
        llvm.bitcast(T.i32(), _struct(word))

    def another_type(word: Any) -> None:
        llvm.extractvalue(T.f32(), _struct(word), [1])

    def no_value(word: Any) -> None:
        llvm.inline_asm(T.i32(), ["text"], "mov.b32 $0, $1;", "=r,r")

    def another_syntax(word: Any) -> None:
        llvm.inline_asm(T.i32(), [word], "mov.b32 $0, $1;", "=r,r", asm_dialect=llvm.AsmDialect.AD_Intel)

    assert "one by one" in refused(as_a_whole)
    assert "another type" in refused(another_type)
    assert "no value of the program" in refused(no_value)
    assert "no other way" in refused(another_syntax)


def _struct(word: Any) -> Any:
    kind = llvm.StructType.get_literal([T.i32(), ir.IntegerType.get_signless(32)])
    return llvm.inline_asm(kind, [word], "mov.b32 $0, $2; mov.b32 $1, $2;", "=r,=r,r")
