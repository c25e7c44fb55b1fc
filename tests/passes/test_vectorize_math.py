"""`vectorize-math`, `call-libm`: functions of vectors become arithmetic, what is left calls the C library."""

from __future__ import annotations

import pytest

from tests.passes.running import checked
from triptych.kernel_ir.transforms.mathematics.formulas import FORMULAS
from triptych.targets.cpu.passes.lower_math import INEXACT, call_libm, vectorize_math


def program(name: str, kind: str, flags: str = "") -> str:
    operands = "%x, %x" if name in ("math.atan2", "math.powf") else "%x"
    result = f"{kind}, {kind}" if name == "math.sincos" else kind
    made = "%a, %b" if name == "math.sincos" else "%a"
    body = f"{made} = {name} {operands} {flags} : {kind} return {made} : {result}"
    return f"func.func @f(%x: {kind}) -> ({result}) {{ {body} }}"


@pytest.mark.parametrize("name", sorted(FORMULAS))
@pytest.mark.parametrize("kind", ["vector<8xf32>", "vector<4xf16>", "vector<2xbf16>"])
def test_vectors_need_no_call(name: str, kind: str) -> None:
    checked(program(name, kind), vectorize_math, f"# CHECK: func.func @f\n# CHECK-NOT: {name} {{{{.*}}}}: {kind}")
    checked(program(name, kind), vectorize_math, "# CHECK: arith.\n# CHECK: return")


@pytest.mark.parametrize("kind", ["f32", "f64", "vector<8xf64>", "vector<2x4xf32>", "f16"])
def test_what_is_left(kind: str) -> None:
    checked(program("math.exp", kind), vectorize_math, f"# CHECK: math.exp %arg0 : {kind}\n# CHECK-NEXT: return")


def test_narrow_lanes_are_computed_in_32_bits() -> None:
    checked(
        program("math.exp", "vector<4xf16>"),
        vectorize_math,
        "# CHECK: arith.extf %arg0 : vector<4xf16> to vector<4xf32>",
    )
    checked(program("math.exp", "vector<4xf32>"), vectorize_math, "# CHECK-NOT: arith.extf\n# CHECK: return")


@pytest.mark.parametrize(
    ("flags", "fast"), [("fastmath<afn>", True), ("fastmath<fast>", True), ("fastmath<nnan>", False)]
)
def test_flags_allow_another_formula(flags: str, fast: bool) -> None:
    assert FORMULAS["math.sin"].fast is not None
    shown = ("# CHECK-NOT: scf.if" if fast else "# CHECK: scf.if") + "\n# CHECK: return"
    checked(program("math.sin", "vector<8xf32>", flags), vectorize_math, shown)


def test_a_function_with_one_formula_has_no_other() -> None:
    assert FORMULAS["math.exp"].fast is None
    checked(
        program("math.exp", "vector<8xf32>", "fastmath<fast>"),
        vectorize_math,
        "# CHECK-NOT: math.exp %\n# CHECK: return",
    )


# calls --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "kind", "function"),
    [
        ("math.expm1", "f32", "expm1f"),
        ("math.expm1", "f64", "expm1"),
        ("math.log1p", "f32", "log1pf"),
        ("math.log1p", "f64", "log1p"),
    ],
)
def test_scalars_are_one_call(name: str, kind: str, function: str) -> None:
    assert {"math.expm1", "math.log1p"} == INEXACT
    checked(
        program(name, kind), call_libm, f"# CHECK: call @{function}(%arg0) : ({kind}) -> {kind}\n# CHECK-NOT: {name}"
    )
    checked(program(name, kind), call_libm, f"# CHECK: func.func private @{function}({kind}) -> {kind}")


def test_narrow_floats_are_computed_in_32_bits() -> None:
    checked(
        program("math.expm1", "f16"),
        call_libm,
        """
        # CHECK: arith.extf %arg0 : f16 to f32
        # CHECK-NEXT: call @expm1f
        # CHECK-NEXT: arith.truncf {{.*}} : f32 to f16
        """,
    )


def test_a_vector_is_a_call_for_each_lane() -> None:
    checked(
        program("math.log1p", "vector<2xf64>"),
        call_libm,
        """
        # CHECK: vector.extract %arg0[0]
        # CHECK: vector.extract %arg0[1]
        # CHECK-COUNT-2: call @log1p(
        # CHECK: vector.from_elements {{.*}} : vector<2xf64>
        # CHECK-NOT: expm1
        """,
    )


def test_other_functions_are_exact() -> None:
    checked(program("math.exp", "f32"), call_libm, "# CHECK: math.exp\n# CHECK-NOT: call\n# CHECK-NOT: private")
