"""Every instruction of inline PTX that has a meaning means on the CPU what it computes on the PTX simulator."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from tests.support.inline_ptx import NARROW, Array, Case, bits, numbers, one_instruction, run
from tests.support.ptx.unified import numpy_gpu
from tests.unit.targets.nvptx.tools import needs_assembler

pytestmark = needs_assembler


def forms(*parts: str) -> list[str]:
    """Opcodes of all combinations: `forms("add sub", "s32 u32")`; `-` stands for nothing."""
    return [".".join(word for word in words if word != "-") for words in product(*(part.split() for part in parts))]


INTEGERS = ("s16", "u16", "s32", "u32", "s64", "u64")


def by_what_is_not_zero(name: str, kind: str) -> Case:
    """What a division by zero gives PTX leaves open."""
    width = kind[1:]
    text = f"{{ .reg .b{width} t; or.b{width} t, $2, 1; {name}.{kind} $0, $1, t; }}"
    return Case(text, (kind,), (kind, kind))


EXACT: dict[str, list[Case]] = {
    "integers": [
        *map(one_instruction, forms("add sub min max", "s16 u16 s32 u32 s64 u64")),
        *(by_what_is_not_zero(name, kind) for name in ("div", "rem") for kind in INTEGERS),
        *map(one_instruction, forms("neg abs", "s16 s32 s64")),
    ],
    "products": [
        *map(one_instruction, forms("mul mad", "lo hi", "s16 u16 s32 u32 s64 u64")),
        *map(one_instruction, forms("mul mad", "wide", "s16 u16 s32 u32")),
    ],
    "logic": [
        *map(one_instruction, forms("and or xor not", "b16 b32 b64 pred")),
        *map(one_instruction, forms("shl", "b16 b32 b64")),
        *map(one_instruction, forms("shr", "b16 b32 b64 s16 s32 s64 u16 u32 u64")),
        *map(one_instruction, forms("shf", "l r", "wrap clamp", "b32")),
        *map(one_instruction, forms("popc clz brev", "b32 b64")),
        *map(one_instruction, forms("bfe", "s32 u32 s64 u64")),
        *map(one_instruction, forms("bfi", "b32 b64")),
        one_instruction("prmt.b32"),
        *(one_instruction("lop3.b32", table) for table in ("0x96", "0xE8", "0x00", "0xff", "202", "0x1")),
    ],
    "floats": [
        *map(one_instruction, forms("add sub mul", "- rn", "- ftz", "- sat", "f32")),
        *map(one_instruction, forms("add sub mul fma mad", "rz rm rp", "- ftz", "- sat", "f32")),
        *map(one_instruction, forms("add sub mul", "- rn", "f64 f16 f16x2")),
        *map(one_instruction, forms("add sub mul", "rn", "bf16 bf16x2")),
        *map(one_instruction, forms("add sub mul", "sat", "f16 f16x2")),
        *map(one_instruction, forms("fma mad", "rn", "- ftz", "- sat", "f32")),
        *map(one_instruction, forms("fma", "rn", "f64 f16 f16x2 bf16 bf16x2")),
        *map(one_instruction, forms("min max", "- ftz", "- NaN", "f32")),
        *map(one_instruction, forms("min max", "f64")),
        *map(one_instruction, forms("min max", "- NaN", "f16 f16x2 bf16 bf16x2")),
        *map(one_instruction, forms("neg abs", "f16 f16x2 bf16 bf16x2 f32 f64")),
        *map(one_instruction, forms("neg abs", "ftz", "f32")),
        *map(one_instruction, forms("copysign", "f32 f64")),
        *map(one_instruction, forms("testp", "finite infinite number notanumber", "f32 f64")),
        *map(one_instruction, forms("div rcp sqrt", "rn", "- ftz", "f32")),
        *map(one_instruction, forms("div rcp sqrt", "rn", "f64")),
    ],
    "choices": [
        *map(one_instruction, forms("setp", "eq ne lt le gt ge", "s16 u16 s32 u32 s64 u64")),
        *map(one_instruction, forms("setp", "eq ne", "b16 b32 b64")),
        *map(one_instruction, forms("setp", "lo ls hi hs", "u32")),
        *map(one_instruction, forms("setp", "eq ne lt le gt ge equ neu ltu leu gtu geu num nan", "f32 f64 f16")),
        *map(one_instruction, forms("set", "lt geu", "u32 s32 f32", "f32")),
        *map(one_instruction, forms("set", "lt", "u32 s32 f32", "s32 u32")),
        *map(one_instruction, forms("selp", "b16 b32 b64 f32 f64 s32")),
        *map(one_instruction, forms("slct", "b32 u64 f32", "s32 f32")),
    ],
    "conversions of integers": [
        *map(one_instruction, forms("cvt", "u8 s8 u16 s16 u32 s32 u64 s64", "u8 s8 u16 s16 u32 s32 u64 s64")),
        *map(one_instruction, forms("cvt", "sat", "u8 s8", "u16 s16 u32 s32 u64 s64")),
        *map(one_instruction, forms("cvt", "sat", "u16 s16", "u32 s32 u64 s64")),
        *map(one_instruction, forms("cvt", "sat", "u32 s32", "u64 s64")),
        *map(one_instruction, ("cvt.sat.u32.s32", "cvt.sat.s32.u32", "cvt.sat.u64.s8", "cvt.sat.s8.u8")),
    ],
    "conversions to integers": [
        *map(one_instruction, forms("cvt", "rni rzi rmi rpi", "u8 s8 u16 s16 u32 s32 u64 s64", "f32")),
        *map(one_instruction, forms("cvt", "rni rzi rmi rpi", "u16 s16 u32 s32 u64 s64", "f64 f16")),
        *map(one_instruction, forms("cvt", "rzi", "ftz", "s32 u32", "f32")),
        *map(one_instruction, forms("cvt", "rni", "s32 u16", "bf16")),
    ],
    "conversions to floats": [
        *map(one_instruction, forms("cvt", "rn", "f32 f64", "u8 s8 u16 s16 u32 s32 u64 s64")),
        *map(one_instruction, forms("cvt", "rn", "f16 bf16", "u16 s16 u32 s32")),
        *map(one_instruction, forms("cvt", "- sat", "f32", "f16")),
        *map(one_instruction, forms("cvt", "f64", "f32 f16")),
        *map(one_instruction, forms("cvt", "f32", "bf16")),
        *map(one_instruction, forms("cvt", "rn", "- sat", "f32", "f64")),
        *map(one_instruction, forms("cvt", "rn", "- sat", "f16", "f32 f64")),
        *map(one_instruction, forms("cvt", "rn", "bf16", "f32")),
        *map(one_instruction, forms("cvt", "rni rzi rmi rpi", "- ftz", "f32", "f32")),
        *map(one_instruction, forms("cvt", "rni rzi rmi rpi", "f64", "f64")),
        *map(one_instruction, forms("cvt", "rni rzi rmi rpi", "f16", "f16")),
        *map(one_instruction, forms("cvt", "rn", "f16x2 bf16x2", "f32")),
        *map(one_instruction, forms("cvt", "rn", "satfinite", "e4m3x2 e5m2x2", "f32 f16x2")),
        *map(one_instruction, forms("cvt", "rn", "f16x2", "e4m3x2 e5m2x2")),
    ],
    "texts": [
        Case("setp.lt.and.s32 $0, $1, $2, $3;", ("pred",), ("s32", "s32", "pred")),
        Case("setp.lt.xor.s32 $0|$1, $2, $3, !$4;", ("pred", "pred"), ("s32", "s32", "pred")),
        Case("mov.b32 {$0, $1}, $2;", ("b16", "b16"), ("b32",)),
        Case("mov.b64 {$0, $1, $2, $3}, $4;", ("b16",) * 4, ("b64",)),
        Case("mov.b64 $0, {$1, $2};", ("b64",), ("b32", "f32")),
        Case("{ .reg .b32 t<2>; mov.b32 t1, $1; @$2 add.u32 t1, t1, 5; mov.b32 $0, t1; }", ("b32",), ("b32", "pred")),
        Case("{ .reg .b32 t; mov.b32 t, $1; @!$2 mov.b32 t, -0x10; not.b32 $0, t; }", ("b32",), ("b32", "pred")),
        Case("add.f32 $0, $1, 0f3F800000; // one\n/* and */ mul.f32 $0, $0, 0f40000000;", ("f32",), ("f32",)),
        Case("mul.f64 $0, $1, 0d4004000000000000;", ("f64",), ("f64",)),
        Case("{ .reg .u32 t; { .reg .u64 t; mov.u64 t, $1; } mov.u32 t, 0x8; mov.u32 $0, t; }", ("u32",), ("u64",)),
        Case(
            "{ .reg .b64 a, b, d; mov.b64 a, {$2, $3}; mov.b64 b, {$4, $5}; add.rn.f32 $0, $2, $4; "
            "add.rn.f32 $1, $3, $5; }",
            ("f32", "f32"),
            ("f32",) * 4,
        ),
    ],
}
NEAR: list[Case] = [
    *map(one_instruction, forms("tanh ex2 lg2 sin cos", "approx", "f32")),
    *map(one_instruction, forms("ex2 lg2", "approx", "ftz", "f32")),
    *map(one_instruction, forms("tanh", "approx", "f16 f16x2 bf16 bf16x2")),
    *map(one_instruction, forms("ex2", "approx", "f16 f16x2")),
    *map(one_instruction, forms("ex2", "approx", "ftz", "bf16 bf16x2")),
    *map(one_instruction, forms("div rcp sqrt rsqrt", "approx", "- ftz", "f32")),
    *map(one_instruction, forms("div", "full", "f32")),
]
NEWER = [
    *map(one_instruction, forms("add sub mul fma", "rn rz rm rp", "- ftz", "f32x2")),
    Case("{ .reg .b8 t; cvt.rn.satfinite.e2m1x2.f32 t, $1, $2; mov.b32 $0, {t, t, t, t}; }", ("b32",), ("f32", "f32")),
    Case("{ .reg .b8 t, u, v, w; mov.b32 {t, u, v, w}, $1; cvt.rn.f16x2.e2m1x2 $0, t; }", ("f16x2",), ("b32",)),
]
"""What only the newest machines have."""


def both(cases: list[Case], seed: int, architecture: str = "sm_90") -> list[tuple[Case, str, Array, Array]]:
    """What the CPU computes and what the emulator does: case, kind of a result, numbers and numbers."""
    inputs = bits(seed)
    here = run(tuple(cases), inputs)
    with numpy_gpu(architecture):
        there = run(tuple(cases), inputs)
    return [
        (case, kind, numbers(here[n, i], shown(case, kind)), numbers(there[n, i], shown(case, kind)))
        for n, case in enumerate(cases)
        for i, kind in enumerate(case.results)
    ]


def shown(case: Case, kind: str) -> str:
    """As what a result is compared: bits of pairs of fp8 as these."""
    return next((pair for pair in NARROW if f".{pair}.f" in case.text), kind)


@pytest.mark.parametrize("family", EXACT)
@examples(5)
@given(seed=st.integers(0, 2**32))
def test_computes_the_same(family: str, seed: int) -> None:
    for case, kind, found, expected in both(EXACT[family], seed):
        np.testing.assert_array_equal(found, expected, f"{case.text} -> {kind}", strict=True)


@examples(5)
@given(seed=st.integers(0, 2**32))
def test_packed_arithmetic_of_newer_machines(seed: int) -> None:
    for case, kind, found, expected in both(NEWER, seed, "sm_100a"):
        np.testing.assert_array_equal(found, expected, f"{case.text} -> {kind}", strict=True)


@examples(5)
@given(seed=st.integers(0, 2**32))
def test_approximations_are_near(seed: int) -> None:
    for case, kind, found, expected in both(NEAR, seed):
        narrow = 2.0**-7 if "bf16" in kind else 2.0**-10 if "f16" in kind else 2.0**-21
        np.testing.assert_allclose(found, expected, narrow, 1e-30, err_msg=case.text)


def test_signs_of_zeros_and_of_results_agree() -> None:
    """What sign a saturated zero has PTX leaves open."""
    cases = [case for case in EXACT["floats"] if case.results[0] in ("f32", "f64") and ".sat" not in case.text]
    for case, _, found, expected in both(cases, 7):
        there = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(found)[there], np.signbit(expected)[there], case.text)
