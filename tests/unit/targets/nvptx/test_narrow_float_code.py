"""Golden PTX of narrow floats: which instructions convert them, on GPUs that have them and on those that do not."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import triptych as tt
from tests.ir.filecheck import check, directives
from tests.unit.cute.array_memory import over
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych import cute

pytestmark = needs_assembler
SIZE = 1024


@tt.kernel
def convert(a: Any, b: Any, each: tt.Constexpr[int], saturate: tt.Constexpr[bool]) -> None:
    """Each thread converts some neighbours; what saturates is one of them."""
    t, _, _ = cute.arch.thread_idx()
    if tt.const_expr(saturate):
        b[t] = a[t].to(b.element_type, saturate=True)
    else:
        mine, result = (cute.zipped_divide(tensor, (each,))[None, t] for tensor in (a, b))
        result.store(mine.load().to(b.element_type))


@tt.jit
def launched(
    p: tt.Int64,
    q: tt.Int64,
    source: tt.Constexpr[Any],
    target: tt.Constexpr[Any],
    each: tt.Constexpr[int] = 4,
    saturate: tt.Constexpr[bool] = False,
) -> None:
    a, b = (over(at, cute.make_layout((SIZE,)), dtype, align=16) for at, dtype in ((p, source), (q, target)))
    convert(a, b, each, saturate).launch(grid=1, block=32)


def ptx(architecture: str, *arguments: Any) -> str:
    text: str = tt.compile(launched, 0, 0, *arguments, target=f"nvptx:{architecture}").__ptx__
    return text


def fp8_widens_in_pairs() -> str:
    # CHECK: ld.global.v2.b16
    # CHECK-COUNT-2: cvt.rn.f16x2.e4m3x2
    # CHECK-COUNT-4: cvt.f32.f16
    # CHECK-NOT: cvt
    # CHECK: st.global.v4.b32
    return ptx("sm_89", tt.Float8E4M3FN, tt.Float32)


def fp8_becomes_float16_without_a_detour() -> str:
    # CHECK-COUNT-2: cvt.rn.f16x2.e5m2x2
    # CHECK-NOT: cvt
    # CHECK: st.global
    return ptx("sm_90a", tt.Float8E5M2, tt.Float16)


def fp8_overflows_as_its_format_says() -> str:
    # CHECK: cvt.rn.satfinite.e4m3x2.f32
    # CHECK: setp.gt.f32 {{.*}} 0f43E80000
    # CHECK: setp.gt.f32 {{.*}} 0f43E80000
    # CHECK: cvt.rn.satfinite.e4m3x2.f32
    return ptx("sm_89", tt.Float32, tt.Float8E4M3FN)


def fp8_overflows_to_infinity_from_halfway() -> str:
    # CHECK: cvt.rn.satfinite.e5m2x2.f32
    # CHECK: setp.ge.f32 {{.*}} 0f47700000
    return ptx("sm_100a", tt.Float32, tt.Float8E5M2)


def fp8_saturates_by_itself() -> str:
    # CHECK: cvt.rn.satfinite.e4m3x2.f32
    # CHECK-NOT: setp
    # CHECK-NOT: cvt
    # CHECK: st.global.b8
    return ptx("sm_89", tt.Float32, tt.Float8E4M3FN, 1, True)


def older_gpus_use_formulas() -> str:
    # CHECK-NOT: e4m3
    # CHECK: cvt.f32.f16
    # CHECK-NOT: e4m3
    # CHECK: st.global
    return ptx("sm_86", tt.Float8E4M3FN, tt.Float32)


def fp4_is_neither_spread_out_nor_packed() -> str:
    # CHECK: ld.global.b32
    # CHECK-COUNT-4: cvt.rn.f16x2.e2m1x2
    # CHECK-NOT: shl
    # CHECK-NOT: shr
    # CHECK: st.global
    return ptx("sm_120a", tt.Float4E2M1FN, tt.Float16, 8)


def fp6_has_instructions() -> str:
    # CHECK: cvt.rn.satfinite.e3m2x2.f32
    # CHECK-NOT: setp
    # CHECK: st.global
    return ptx("sm_103a", tt.Float32, tt.Float6E3M2FN)


def powers_of_two_widen_by_an_instruction() -> str:
    # CHECK-COUNT-2: cvt.rn.bf16x2.ue8m0x2
    return ptx("sm_100a", tt.Float8E8M0FNU, tt.Float32)


def tf32_loses_its_lowest_bits() -> str:
    # CHECK: cvt.rn.tf32.f32
    # CHECK: and.b32 {{.*}} -8192
    return ptx("sm_90", tt.Float32, tt.TFloat32, 1)


def tf32_ties_do_not_go_away_from_zero() -> str:
    # CHECK-NOT: tf32
    # CHECK: st.global
    return ptx("sm_80", tt.Float32, tt.TFloat32, 1)


def float16_saturates() -> str:
    # CHECK: cvt.rn.satfinite.f16.f32
    # CHECK: st.global.b16
    return ptx("sm_80", tt.Float32, tt.Float16, 1, True)


def bfloat16_of_an_integer_is_rounded_once() -> str:
    """By way of Float64, which holds it, and a Float32 that keeps the fact that it was rounded."""
    # CHECK: cvt.rn.f64.s32
    # CHECK: cvt.rn.bf16.f32
    return ptx("sm_80", tt.Int32, tt.BFloat16, 1)


def bfloat16_of_an_integer_is_an_instruction() -> str:
    # CHECK: cvt.rn.bf16.s32
    return ptx("sm_90", tt.Int32, tt.BFloat16, 1)


PROGRAMS = [
    fp8_widens_in_pairs,
    fp8_becomes_float16_without_a_detour,
    fp8_overflows_as_its_format_says,
    fp8_overflows_to_infinity_from_halfway,
    fp8_saturates_by_itself,
    older_gpus_use_formulas,
    fp4_is_neither_spread_out_nor_packed,
    fp6_has_instructions,
    powers_of_two_widen_by_an_instruction,
    tf32_loses_its_lowest_bits,
    tf32_ties_do_not_go_away_from_zero,
    float16_saturates,
    bfloat16_of_an_integer_is_rounded_once,
    bfloat16_of_an_integer_is_an_instruction,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_ptx(program: Any) -> None:
    check(program(), directives(inspect.getsource(program)))
