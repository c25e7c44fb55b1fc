"""`select-math`: what has an instruction becomes an intrinsic; what libdevice computes better stays."""

from __future__ import annotations

import pytest

from tests.passes.running import checked, kernel
from triptych.targets.nvptx.passes.select_math import select_math

STORE = "llvm.store %0, %p : f32, !llvm.ptr<1>"
ARGUMENTS = "%p: !llvm.ptr<1>, %x: f32, %h: vector<2xf16>"


def test_an_exact_function_keeps_the_liberties_of_the_program() -> None:
    checked(
        kernel(f"%0 = math.sqrt %x fastmath<contract> : f32\n{STORE}", ARGUMENTS),
        select_math,
        """
        # CHECK-NOT: math.sqrt
        # CHECK: llvm.call_intrinsic "llvm.sqrt.f32"
        # CHECK: fastmathFlags = #llvm.fastmath<contract>
        """,
    )


def test_approximations_only_where_they_are_allowed() -> None:
    checked(
        kernel(f"%1 = math.exp %x fastmath<afn> : f32\n%0 = math.exp %1 : f32\n{STORE}", ARGUMENTS),
        select_math,
        """
        # CHECK: arith.mulf
        # CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"
        # CHECK: math.exp
        """,
    )


def test_lanes_of_16_bits_are_computed_in_32() -> None:
    checked(
        kernel(
            "%0 = math.rsqrt %h : vector<2xf16>\nllvm.store %0, %p : vector<2xf16>, !llvm.ptr<1>",
            ARGUMENTS,
        ),
        select_math,
        """
        # CHECK-COUNT-2: vector.extract
        # CHECK: arith.extf
        # CHECK: llvm.nvvm.rsqrt.approx.f
        # CHECK: arith.truncf
        # CHECK: arith.extf
        # CHECK: llvm.nvvm.rsqrt.approx.f
        # CHECK: arith.truncf
        # CHECK: vector.from_elements
        """,
    )


def test_numbers_of_64_bits_stay_with_libdevice() -> None:
    checked(
        kernel(
            "%0 = math.exp %d fastmath<afn> : f64\nllvm.store %0, %p : f64, !llvm.ptr<1>", "%p: !llvm.ptr<1>, %d: f64"
        ),
        select_math,
        """
        # CHECK: math.exp
        """,
    )


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("math.absf", "fabs"),
        ("math.ceil", "ceil"),
        ("math.floor", "floor"),
        ("math.round", "round"),
        ("math.roundeven", "roundeven"),
        ("math.sqrt", "sqrt"),
        ("math.trunc", "trunc"),
    ],
)
def test_exact_functions_of_every_type(name: str, function: str) -> None:
    for kind, suffix in (("f32", "f32"), ("f64", "f64"), ("vector<2xf16>", "v2f16")):
        program = kernel(f"%0 = {name} %y : {kind}", f"%y: {kind}")
        checked(program, select_math, f'# CHECK: "llvm.{function}.{suffix}"(%arg0)\n# CHECK-NOT: {name}')


@pytest.mark.parametrize("name", ["ctlz", "cttz", "ctpop"])
def test_bits(name: str) -> None:
    checked(
        kernel(f"%0 = math.{name} %n : i32", "%n: i32"), select_math, f"# CHECK: llvm.intr.{name}\n# CHECK-NOT: math."
    )


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("cos", "llvm.cos.f32"),
        ("sin", "llvm.sin.f32"),
        ("tanh", "llvm.tanh.f32"),
        ("exp2", "llvm.nvvm.ex2.approx.ftz.f"),
        ("log2", "llvm.nvvm.lg2.approx.f"),
        ("rsqrt", "llvm.nvvm.rsqrt.approx.f"),
    ],
)
@pytest.mark.parametrize("flags", ["afn", "fast"])
def test_approximations(name: str, written: str, flags: str) -> None:
    program = kernel(f"%0 = math.{name} %x fastmath<{flags}> : f32", "%x: f32")
    checked(program, select_math, f'# CHECK: "{written}"(%arg0) {{{{.*}}}}fastmath<afn>\n# CHECK-NOT: arith.mulf')


@pytest.mark.parametrize(
    ("name", "factor", "before"),
    [("exp", "1.44269502", True), ("log", "0.693147182", False), ("log10", "3.010300e-01", False)],
)
def test_other_bases_are_a_factor(name: str, factor: str, before: bool) -> None:
    lines = ["# CHECK: llvm.call_intrinsic", f"# CHECK: arith.constant {factor} : f32\n# CHECK-NEXT: arith.mulf"]
    program = kernel(f"%0 = math.{name} %x fastmath<afn> : f32", "%x: f32")
    checked(program, select_math, "\n".join(lines[::-1] if before else lines))


@pytest.mark.parametrize("name", ["exp2", "rsqrt"])
def test_what_libdevice_does_no_better(name: str) -> None:
    checked(kernel(f"%0 = math.{name} %x : f32", "%x: f32"), select_math, "# CHECK: llvm.call_intrinsic")
    checked(kernel(f"%0 = math.{name} %x : f64", "%x: f64"), select_math, f"# CHECK: math.{name}")
