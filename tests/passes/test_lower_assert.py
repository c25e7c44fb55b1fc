"""`lower-assert`: checks are branches to one block that leaves; the public function gives a status first."""

from __future__ import annotations

from typing import Any

import pytest

from tests.passes.running import checked, parsed
from triptych.ir.errors import LoweringError
from triptych.ir.modules import Signature, attach_signature
from triptych.targets.cpu.passes.lower_assert import lower_assert


def run(module: Any) -> None:
    attach_signature(module, Signature("f", (), ()))
    lower_assert(module)


def test_a_function_without_checks_gives_success() -> None:
    checked(
        "func.func @f(%n: i32) -> i32 { return %n : i32 }",
        run,
        """
        # CHECK: func.func @f(%arg0: i32) -> (i32, i32)
        # CHECK-NEXT: llvm.mlir.constant(0 : i32)
        # CHECK-NEXT: return %0, %arg0 : i32, i32
        # CHECK-NOT: llvm.func
        """,
    )


def test_checks_share_a_block_that_raises() -> None:
    checked(
        """
        func.func @f(%c: i1, %n: i64) -> (i64, f32) {
          %x = arith.constant 2.0 : f32
          cf.assert %c, "first"
          %m = arith.addi %n, %n : i64
          cf.assert %c, "second"
          return %m, %x : i64, f32
        }
        """,
        run,
        """
        # CHECK: func.func @f(%arg0: i1, %arg1: i64) -> (i32, i64, f32)
        # CHECK: llvm.mlir.addressof @triptych.check0
        # CHECK-NEXT: llvm.mlir.addressof @triptych.check1
        # CHECK-NEXT: cf.cond_br %arg0 weights([2000, 1]), ^bb1, ^bb3({{.*}} : !llvm.ptr, !llvm.ptr)
        # CHECK-NEXT: ^bb1:
        # CHECK-NEXT: arith.addi
        # CHECK-NEXT: llvm.mlir.addressof @triptych.check0
        # CHECK-NEXT: llvm.mlir.addressof @triptych.check2
        # CHECK-NEXT: cf.cond_br %arg0 weights([2000, 1]), ^bb2, ^bb3(
        # CHECK-NEXT: ^bb2:
        # CHECK-NEXT: llvm.mlir.constant(0 : i32)
        # CHECK-NEXT: return {{.*}} : i32, i64, f32
        # CHECK-NEXT: ^bb3(%{{\\w+}}: !llvm.ptr, %{{\\w+}}: !llvm.ptr):
        # CHECK: llvm.ptrtoint
        # CHECK-NEXT: llvm.ptrtoint
        # CHECK: llvm.mlir.addressof @triptych_fail
        # CHECK: llvm.mlir.addressof @triptych_fail.format
        # CHECK: llvm.mlir.constant(0 : i64)
        # CHECK: llvm.call @triptych.raise
        # CHECK-NEXT: llvm.mlir.poison : i64
        # CHECK-NEXT: llvm.mlir.poison : f32
        # CHECK-NEXT: llvm.mlir.constant(-2 : i32)
        # CHECK-NEXT: return
        # CHECK-NOT: cf.assert
        # CHECK: @triptych.check0("AssertionFailedError\\00")
        # CHECK: @triptych.check1("first\\00")
        # CHECK: @triptych.check2("second\\00")
        """,
    )


def test_a_check_says_what_it_raises() -> None:
    checked(
        """
        func.func @f(%c: i1) {
          cf.assert %c, "text for people" {triptych.error = "DivisionByZeroError", triptych.facts = "facts"}
          return
        }
        """,
        run,
        """
        # CHECK: @triptych.check0("DivisionByZeroError\\00")
        # CHECK: @triptych.check1("facts\\00")
        # CHECK-NOT: text for people
        """,
    )


def test_what_only_stops_tells_nothing() -> None:
    checked(
        """
        func.func @f(%c: i1) -> i64 {
          cf.assert %c, "kept already" {triptych.error = "stopping"}
          cf.assert %c, "kept already" {triptych.error = "stopping"}
          %n = arith.constant 3 : i64
          return %n : i64
        }
        """,
        run,
        """
        # CHECK: cf.cond_br %arg0 weights([2000, 1]), ^bb1, ^bb3
        # CHECK-NEXT: ^bb1:
        # CHECK-NEXT: cf.cond_br %arg0 weights([2000, 1]), ^bb2, ^bb3
        # CHECK: ^bb3:
        # CHECK-NEXT: llvm.mlir.poison : i64
        # CHECK-NEXT: llvm.mlir.constant(-2 : i32)
        # CHECK-NEXT: return
        # CHECK-NOT: triptych.check
        # CHECK-NOT: triptych_fail
        """,
    )


def test_both_ways_to_leave() -> None:
    checked(
        """
        func.func @f(%c: i1) {
          cf.assert %c, "told"
          cf.assert %c, "kept already" {triptych.error = "stopping"}
          return
        }
        """,
        run,
        """
        # CHECK: cf.cond_br %arg0 weights([2000, 1]), ^bb1, ^bb3(
        # CHECK: cf.cond_br %arg0 weights([2000, 1]), ^bb2, ^bb4
        # CHECK: ^bb3(
        # CHECK: llvm.call @triptych.raise
        # CHECK: ^bb4:
        # CHECK-NOT: llvm.call
        # CHECK: llvm.mlir.constant(-2 : i32)
        """,
    )


def test_checks_of_every_block() -> None:
    checked(
        """
        func.func @f(%c: i1) {
          cf.cond_br %c, ^one, ^two
        ^one:
          cf.assert %c, "one"
          return
        ^two:
          cf.assert %c, "one"
          return
        }
        """,
        run,
        """
        # CHECK-COUNT-2: cf.cond_br %arg0 weights([2000, 1])
        # CHECK-NOT: cf.assert
        # CHECK: llvm.call @triptych.raise
        # CHECK-NOT: llvm.call @triptych.raise
        """,
    )


KERNEL = """
func.func @f() { return }
func.func @k.blocks(%c: i1, %launch: !llvm.ptr) attributes {triptych.kernel} {
  %one = llvm.mlir.constant(1 : i32) : i32
  %other = llvm.alloca %one x i32 : (i32) -> !llvm.ptr
  WHERE
  cf.assert %c, "told"
  return
}
"""


def test_a_kernel_tells_its_launch_where() -> None:
    where = "%place = llvm.alloca %one x !llvm.array<4 x i32> {triptych.fault} : (i32) -> !llvm.ptr"
    checked(
        KERNEL.replace("WHERE", where),
        run,
        """
        # CHECK: func.func @k.blocks(%arg0: i1, %arg1: !llvm.ptr) {
        # CHECK: %2 = llvm.alloca {{.*}} x !llvm.array<4 x i32> : (i32)
        # CHECK: cf.cond_br %arg0 weights([2000, 1]), ^bb1, ^bb2(
        # CHECK: ^bb1:
        # CHECK-NEXT: return
        # CHECK: ^bb2(%5: !llvm.ptr, %6: !llvm.ptr):
        # CHECK-NEXT: llvm.call @triptych_kernel_fault(%arg1, %5, %6, %2)
        # CHECK-NEXT: return
        """,
    )


def test_a_kernel_without_a_place() -> None:
    checked(
        KERNEL.replace("WHERE", ""),
        run,
        """
        # CHECK: ^bb2(%4: !llvm.ptr, %5: !llvm.ptr):
        # CHECK-NEXT: %6 = llvm.mlir.zero : !llvm.ptr
        # CHECK-NEXT: llvm.call @triptych_kernel_fault(%arg1, {{.*}}, %6)
        """,
    )


def test_a_kernel_that_stops_just_returns() -> None:
    stops = '  cf.assert %c, "kept" {triptych.error = "stopping"}'
    checked(
        KERNEL.replace("WHERE", "").replace('  cf.assert %c, "told"', stops),
        run,
        """
        # CHECK: cf.cond_br %arg0 weights([2000, 1]), ^bb1, ^bb2
        # CHECK: ^bb2:
        # CHECK-NEXT: return
        # CHECK-NOT: llvm.call
        """,
    )


def test_other_functions_have_no_checks() -> None:
    other = 'func.func private @g(%c: i1) { cf.assert %c, "told" return }'
    module = parsed(f"func.func @f() {{ return }} {other}")
    with module.context, pytest.raises(LoweringError, match="in a function that is not the public one"):
        run(module)
    plain = "func.func private @g(%c: i1) { return }"
    checked(
        f"func.func @f() {{ return }} {plain}", run, "# CHECK: func.func private @g(%arg0: i1) {\n# CHECK-NEXT: return"
    )


def test_unknown_errors() -> None:
    module = parsed('func.func @f(%c: i1) { cf.assert %c, "told" {triptych.error = "Strange"} return }')
    with module.context, pytest.raises(LoweringError, match="an unknown error class 'Strange'") as error:
        run(module)
    assert "DivisionByZeroError" in str(error.value)
