"""`poll-loops`: loops of the host that may run long are cut into stretches with a poll between them.

Those with a counter are cut by `stretches`, the others by `while_stretches`.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.passes.running import checked
from triptych.ir.modules import Signature, attach_signature
from triptych.targets.cpu.passes import poll_loops as tested

BUDGET = 1 << 20


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this system is, it has one."""
    monkeypatch.setattr(tested, "is_supported", lambda: True)


def run(module: Any) -> None:
    attach_signature(module, Signature("f", (), ()))
    tested.poll_loops(module)


def counted(count: str, body: str = "", step: int = 1, low: int = 0) -> str:
    high = f"%high = arith.constant {count} : i32" if count.isdigit() else f"%high = arith.addi {count}, {count} : i32"
    return f"""
    llvm.func @callee()
    llvm.func @triptych_launch()
    func.func @f(%n: i32, %p: !llvm.ptr, %x: f32) {{
      %low = arith.constant {low} : i32
      %step = arith.constant {step} : i32
      {high}
      scf.for %i = %low to %high step %step : i32 {{ {body} }}
      return
    }}
    """


POLLED = "# CHECK: scf.for\n# CHECK: scf.for\n# CHECK: llvm.call @triptych.poll_host"
PLAIN = "# CHECK: scf.for\n# CHECK-NOT: scf.for\n# CHECK-NOT: triptych.poll_host"
STORE = "llvm.store %i, %p : i32, !llvm.ptr"
"""With the end of the loop's body and the loop itself, an iteration is three operations."""


@pytest.mark.parametrize(
    ("program", "is_polled"),
    [
        (counted("%n"), True),
        (counted(str(BUDGET // 2)), False),
        (counted(str(BUDGET // 2 + 1)), True),
        (counted(str(BUDGET // 3), STORE), False),
        (counted(str(BUDGET // 3 + 1), STORE), True),
        (counted(str(BUDGET // 3 * 2), STORE, step=2), False),
        (counted(str(BUDGET // 3 * 2 + 1), STORE, step=2), True),
        (counted(str(BUDGET // 2 + 8), low=8), False),
        (counted(str(BUDGET // 2 + 9), low=8), True),
        (counted("0", low=8), False),
        (counted(str(BUDGET // 18), "llvm.call @callee() : () -> ()"), False),
        (counted(str(BUDGET // 18 + 1), "llvm.call @callee() : () -> ()"), True),
        (counted(str(BUDGET // 18), "%y = math.exp %x : f32"), False),
        (counted(str(BUDGET // 18 + 1), "%y = math.exp %x : f32"), True),
        (counted("1", "llvm.call @triptych_launch() : () -> ()"), True),
    ],
)
def test_which_loops_are_long(program: str, is_polled: bool) -> None:
    checked(program, run, POLLED if is_polled else PLAIN)


def test_an_inner_loop_counts_for_all_its_iterations() -> None:
    inner = "%ten = arith.constant 10 : i32 scf.for %j = %low to %ten step %step : i32 { }"
    work = 1 + 1 + 10 * 2 + 1
    checked(counted(str(BUDGET // work), inner), run, "# CHECK-NOT: triptych.poll_host")
    checked(counted(str(BUDGET // work + 1), inner), run, "# CHECK: triptych.poll_host")


def test_a_range_and_what_is_between() -> None:
    checked(
        counted("%n", STORE),
        run,
        """
        # CHECK: llvm.alloca {{.*}} x i64
        # CHECK-NEXT: arith.constant 0 : i64
        # CHECK-NEXT: llvm.store
        # CHECK: arith.extsi %c0_i32
        # CHECK-NEXT: %{{\\d+}} = arith.extsi
        # CHECK-NEXT: %4 = arith.extsi %c1_i32
        # CHECK-NEXT: arith.constant 65536 : i64
        # CHECK-NEXT: arith.muli %4, %c65536_i64
        # CHECK-NEXT: arith.constant 70368744177664 : i64
        # CHECK-NEXT: arith.cmpi sgt, %4, %c70368744177664_i64
        # CHECK-NEXT: arith.select
        # CHECK-NEXT: arith.constant 1 : i64
        # CHECK-NEXT: arith.subi
        # CHECK-NEXT: arith.subi
        # CHECK-NEXT: arith.divui
        # CHECK-NEXT: arith.addi
        # CHECK-NEXT: arith.cmpi slt
        # CHECK-NEXT: arith.constant 0 : i64
        # CHECK-NEXT: arith.select
        # CHECK: scf.for %arg3 =
        # CHECK-NEXT: arith.muli %arg3
        # CHECK-NEXT: arith.addi
        # CHECK-NEXT: arith.subi
        # CHECK-NEXT: arith.minui
        # CHECK-NEXT: arith.addi
        # CHECK-NEXT: arith.trunci
        # CHECK-NEXT: arith.trunci
        # CHECK-NEXT: scf.for
        # CHECK-NEXT: llvm.store
        # CHECK: arith.addi %arg3
        # CHECK-NEXT: arith.cmpi ne
        # CHECK-NEXT: scf.if
        # CHECK-NEXT: llvm.call @triptych.poll_host
        # CHECK: cf.assert {{.*}} {triptych.error = "stopping"}
        """,
    )


def test_a_range_is_shorter_when_an_iteration_is_long() -> None:
    calls = "llvm.call @callee() : () -> ()\n" * 3
    checked(counted("%n", calls), run, f"# CHECK: arith.constant {BUDGET // 50} : i64\n# CHECK-NEXT: arith.muli")
    launch = "llvm.call @triptych_launch() : () -> ()"
    checked(
        counted("%n", launch),
        run,
        "# CHECK: arith.extsi %c1_i32\n# CHECK-NEXT: arith.constant 1 : i64\n# CHECK-NEXT: arith.muli",
    )


def test_the_clock_and_its_period() -> None:
    checked(
        counted("%n"),
        run,
        """
        # CHECK: llvm.func internal @triptych.poll_host
        # CHECK: llvm.mlir.constant(1000000000 : i64)
        # CHECK: llvm.mlir.constant(50000000 : i64)
        # CHECK: llvm.icmp "slt"
        """,
    )


def test_systems_without_a_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tested, "is_supported", lambda: False)
    checked(counted("%n"), run, PLAIN)


# loops that are not counted -----------------------------------------------------------------------------------------
def waiting(test: str, following: str = "%k = arith.addi %j, %step : i32", step: int = 1) -> str:
    return f"""
    llvm.func @callee()
    func.func @f(%n: i32, %p: !llvm.ptr) -> i32 {{
      %low = arith.constant 0 : i32
      %step = arith.constant {step} : i32
      %r = scf.while (%i = %low) : (i32) -> i32 {{
        {test}
        scf.condition(%c) %i : i32
      }} do {{
      ^bb0(%j: i32):
        {following}
        scf.yield %k : i32
      }}
      return %r : i32
    }}
    """


OWN = """
# CHECK: scf.while
# CHECK: arith.subi %arg0, %arg2 : i32
# CHECK-NEXT: arith.constant {limit} : i32
# CHECK-NEXT: arith.minui
# CHECK-NEXT: arith.addi %arg2
# CHECK-NEXT: arith.cmpi {below}, %arg2, %arg0
# CHECK-NEXT: %{{{{\\w+}}}} = arith.select
# CHECK-NEXT: scf.while
# CHECK-NEXT: arith.cmpi {below}, %arg3, %{{{{\\d+}}}}
# CHECK: arith.cmpi {beyond}
# CHECK-NEXT: arith.cmpi {below}
# CHECK-NEXT: arith.andi
# CHECK-NEXT: scf.condition
# CHECK: llvm.call @triptych.poll_host
"""
ADDED = """
# CHECK: scf.while
# CHECK: scf.while
# CHECK: arith.constant 65536 : i32
# CHECK-NEXT: arith.cmpi ult
# CHECK-NEXT: arith.andi
# CHECK: arith.constant 1 : i32
# CHECK-NEXT: arith.addi
# CHECK: arith.constant 65536 : i32
# CHECK-NEXT: arith.cmpi eq
# CHECK: llvm.call @triptych.poll_host
"""
COUNTED = """
# CHECK: scf.while
# CHECK: llvm.load
# CHECK: arith.addi
# CHECK: llvm.store
# CHECK: arith.constant {period} : i64
# CHECK-NEXT: arith.andi
# CHECK: arith.cmpi eq
# CHECK-NEXT: scf.if
# CHECK-NEXT: llvm.call @triptych.poll_host
"""


@pytest.mark.parametrize(
    ("predicate", "opposite", "step"), [("slt", "sge", 1), ("ult", "uge", 1), ("slt", "sge", 3), ("slt", "sge", 32767)]
)
def test_a_loop_that_counts_has_a_nearer_bound(predicate: str, opposite: str, step: int) -> None:
    expected = OWN.format(below=predicate, beyond=opposite, limit=65536 * step)
    checked(waiting(f"%c = arith.cmpi {predicate}, %i, %n : i32", step=step), run, expected)


@pytest.mark.parametrize(
    "program",
    [
        waiting("%c = arith.cmpi sle, %i, %n : i32"),
        waiting("%c = arith.cmpi slt, %n, %i : i32"),
        waiting("%w = llvm.load %p : !llvm.ptr -> i32 %c = arith.cmpi slt, %i, %w : i32"),
        waiting("%c = arith.cmpi slt, %i, %i : i32"),
        waiting("%c = arith.cmpi slt, %i, %n : i32", "%k = arith.muli %j, %step : i32"),
        waiting("%c = arith.cmpi slt, %i, %n : i32", "%k = arith.addi %j, %n : i32"),
        waiting("%c = arith.cmpi slt, %i, %n : i32", step=0),
        waiting("%c = arith.cmpi slt, %i, %n : i32", step=-1),
        waiting("%c = arith.cmpi slt, %i, %n : i32", step=32768),
        waiting("%q = arith.cmpi slt, %i, %n : i32 %c = arith.ori %q, %q : i1"),
        waiting("%q = arith.cmpi slt, %i, %n : i32 %c = arith.andi %q, %q : i1"),
    ],
    ids=[
        *("another comparison", "the other way", "a bound that is read", "no bound", "no sum", "no constant step"),
        *("no step", "downwards", "a step too long", "one of two conditions", "a comparison used twice"),
    ],
)
def test_any_other_loop_gets_a_counter(program: str) -> None:
    checked(program, run, ADDED)


def test_a_condition_among_others() -> None:
    test = "%q = arith.cmpi slt, %i, %n : i32 %w = llvm.load %p : !llvm.ptr -> i1 %c = arith.andi %w, %q : i1"
    checked(waiting(test), run, "# CHECK: arith.minui\n# CHECK: llvm.call @triptych.poll_host")
    other_order = test.replace("%w, %q", "%q, %w")
    checked(waiting(other_order), run, "# CHECK: arith.minui\n# CHECK: llvm.call @triptych.poll_host")
    sum_first = waiting("%c = arith.cmpi slt, %i, %n : i32", "%k = arith.addi %step, %j : i32")
    checked(sum_first, run, OWN.format(below="slt", beyond="sge", limit=65536))


def test_a_test_that_does_something_runs_once() -> None:
    stores = "llvm.store %i, %p : i32, !llvm.ptr %c = arith.cmpi slt, %i, %n : i32"
    checked(waiting(stores), run, COUNTED.format(period=65535) + "# CHECK-NOT: scf.while")
    calls = "llvm.call @callee() : () -> ()\n" * 3 + "%c = arith.cmpi slt, %i, %n : i32"
    checked(waiting(calls), run, COUNTED.format(period=(1 << 14) - 1))


@pytest.mark.parametrize(
    "test",
    [
        'cf.assert %q, "told"',
        "scf.if %q { }",
        "%w = llvm.load %p : !llvm.ptr -> i32",
    ],
)
def test_tests_that_may_run_twice(test: str) -> None:
    checked(waiting(f"%q = arith.cmpi sle, %i, %n : i32 {test} %c = arith.ori %q, %q : i1"), run, ADDED)
