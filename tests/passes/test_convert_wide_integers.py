"""`convert-wide-integers`: conversions of 128 bits are made of conversions of 64; all others stay."""

from __future__ import annotations

import pytest

from tests.passes.running import checked
from triptych.kernel_ir.transforms.wide_conversions import convert_wide_integers


@pytest.mark.parametrize("name", ["sitofp", "uitofp"])
def test_from_a_wide_integer(name: str) -> None:
    checked(
        f"func.func @f(%x: i128) -> f64 {{ %0 = arith.{name} %x : i128 to f64\nreturn %0 : f64 }}",
        convert_wide_integers,
        """
        # CHECK: math.ctlz {{.*}} : i128
        # CHECK: arith.uitofp {{.*}} : i64 to f64
        # CHECK-NOT: i128 to f64
        """,
    )


def test_to_a_vector_of_wide_integers() -> None:
    checked(
        """
        func.func @f(%x: vector<4xf32>) -> vector<4xi128> {
          %0 = llvm.call_intrinsic "llvm.fptosi.sat.v4i128.v4f32"(%x) : (vector<4xf32>) -> vector<4xi128>
          return %0 : vector<4xi128>
        }
        """,
        convert_wide_integers,
        """
        # CHECK-NOT: llvm.fptosi.sat.v4i128
        # CHECK-COUNT-2: "llvm.fptoui.sat.v4i64.v4f64"
        """,
    )


def test_narrower_integers_are_left_to_llvm() -> None:
    checked(
        "func.func @f(%x: i64) -> f64 { %0 = arith.sitofp %x : i64 to f64\nreturn %0 : f64 }",
        convert_wide_integers,
        """
        # CHECK: arith.sitofp %arg0 : i64 to f64
        # CHECK-NEXT: return
        """,
    )
