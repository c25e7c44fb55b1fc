"""`lower-coroutines`, `mark-presplit`: a marked function suspends where it asks to, and says when it has ended."""

from __future__ import annotations

import pytest

from tests.passes.running import checked
from triptych.targets.cpu.passes.lower_coroutines import lower_coroutines, mark_presplit

PROGRAM = """
func.func private @triptych.suspend()
func.func private @k.warp(i32) -> !llvm.ptr
func.func private @k.warp.body(%n: i32) attributes {triptych.coroutine = "k.warp"} {
  %a = arith.addi %n, %n : i32
  BODY
}
func.func @plain(%n: i32) { return }
"""


def test_a_coroutine() -> None:
    checked(
        PROGRAM.replace("BODY", "func.call @triptych.suspend() : () -> ()\n%b = arith.muli %a, %a : i32\nreturn"),
        lower_coroutines,
        """
        # CHECK-NOT: @triptych.suspend
        # CHECK-NOT: @k.warp.body
        # CHECK: func.func private @k.warp(%arg0: i32) -> !llvm.ptr attributes {llvm.presplit} {
        # CHECK: llvm.mlir.zero : !llvm.ptr
        # CHECK: arith.constant 256 : i32
        # CHECK-NEXT: llvm.intr.coro.id %c256_i32, %{{\\w+}}, %{{\\w+}}, %{{\\w+}}
        # CHECK-NEXT: %2 = llvm.intr.coro.size : i64
        # CHECK-NEXT: arith.constant 255 : i64
        # CHECK-NEXT: %3 = llvm.add %2, %c255_i64
        # CHECK-NEXT: arith.constant -256 : i64
        # CHECK-NEXT: %4 = llvm.and %3, %c-256_i64
        # CHECK-NEXT: arith.constant 256 : i64
        # CHECK-NEXT: %5 = llvm.call @{{\\w+}}(%c256_i64, %4) : (i64, i64) -> !llvm.ptr
        # CHECK-NEXT: llvm.intr.coro.begin %{{\\w+}}, %5
        # CHECK-NEXT: llvm.mlir.none : token
        # CHECK: arith.constant false
        # CHECK-NEXT: llvm.intr.coro.suspend
        # CHECK-NEXT: cf.switch %{{\\w+}} : i8, [
        # CHECK-NEXT: default: ^bb3,
        # CHECK-NEXT: 0: ^bb1,
        # CHECK-NEXT: 1: ^bb4
        # CHECK: ^bb1:
        # CHECK-NEXT: arith.addi
        # CHECK-NEXT: llvm.mlir.none : token
        # CHECK: arith.constant false
        # CHECK-NEXT: llvm.intr.coro.suspend
        # CHECK-NEXT: cf.switch %{{\\w+}} : i8, [
        # CHECK-NEXT: default: ^bb3,
        # CHECK-NEXT: 0: ^bb2,
        # CHECK-NEXT: 1: ^bb4
        # CHECK: ^bb2:
        # CHECK-NEXT: arith.muli
        # CHECK-NEXT: cf.br ^bb5
        # CHECK-NEXT: ^bb3:
        # CHECK: llvm.mlir.none : token
        # CHECK: arith.constant false
        # CHECK: llvm.intr.coro.end
        # CHECK: return %{{\\w+}} : !llvm.ptr
        # CHECK-NEXT: ^bb4:
        # CHECK: llvm.intr.coro.free
        # CHECK-NEXT: llvm.call @free
        # CHECK-NEXT: cf.br ^bb3
        # CHECK-NEXT: ^bb5:
        # CHECK: arith.constant true
        # CHECK-NEXT: llvm.intr.coro.suspend
        # CHECK-NEXT: cf.switch %{{\\w+}} : i8, [
        # CHECK-NEXT: default: ^bb3,
        # CHECK-NEXT: 0: ^bb4,
        # CHECK-NEXT: 1: ^bb4
        # CHECK: func.func @plain(%arg0: i32) {
        # CHECK-NEXT: return
        """,
    )


def test_other_calls_and_every_return() -> None:
    body = """
    %c = arith.cmpi eq, %a, %n : i32
    cf.cond_br %c, ^one, ^two
    ^one:
      func.call @plain(%a) : (i32) -> ()
      return
    ^two:
      func.call @triptych.suspend() : () -> ()
      func.call @triptych.suspend() : () -> ()
      return
    """
    checked(
        PROGRAM.replace("BODY", body),
        lower_coroutines,
        """
        # CHECK: call @plain
        # CHECK-NEXT: cf.br ^bb8
        # CHECK-COUNT-2: arith.constant false
        # CHECK: ^bb5:
        # CHECK-NEXT: cf.br ^bb8
        # CHECK: arith.constant true
        # CHECK-NOT: @triptych.suspend
        """,
    )


def test_a_module_without_coroutines() -> None:
    checked(
        "func.func private @triptych.suspend()\nfunc.func @plain() { return }",
        lower_coroutines,
        "# CHECK-NOT: triptych.suspend\n# CHECK: func.func @plain() {\n# CHECK-NOT: llvm.func",
    )
    checked("func.func @plain() { return }", lower_coroutines, "# CHECK: func.func @plain() {\n# CHECK-NOT: llvm.func")


@pytest.mark.parametrize("mark", ["llvm.presplit", "presplit"])
def test_coroutines_are_marked_for_llvm(mark: str) -> None:
    checked(
        f"llvm.func @f() attributes {{{mark}}} {{ llvm.return }} llvm.func @g() {{ llvm.return }}",
        mark_presplit,
        """
        # CHECK: llvm.func @f() attributes {passthrough = ["presplitcoroutine", "noinline"]} {
        # CHECK: llvm.func @g() {
        """,
    )
