"""`select-math`: what has an instruction becomes an intrinsic; what libdevice computes better stays."""

from __future__ import annotations

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
