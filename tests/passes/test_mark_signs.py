"""`mark-signed-extensions`: extensions with a sign keep a mark that later passes leave on what takes their place."""

from __future__ import annotations

from tests.passes.running import checked
from triptych.kernel_ir.analysis.addresses import mark_signed_extensions


def test_only_extensions_with_a_sign_are_marked() -> None:
    checked(
        """
        func.func @f(%x: i32) -> (i64, i64) {
          %0 = arith.extsi %x : i32 to i64
          %1 = arith.extui %x : i32 to i64
          return %0, %1 : i64, i64
        }
        """,
        mark_signed_extensions,
        """
        # CHECK: arith.extsi %arg0 {triptych.signed} : i32 to i64
        # CHECK: arith.extui %arg0 : i32 to i64
        """,
    )
