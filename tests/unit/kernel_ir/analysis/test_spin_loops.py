"""`simt.spin_loops`: what the test of a loop depends on decides whether it waits, and whether it counts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.kernel_ir.kernels import kernel
from triptych.kernel_ir.analysis.spin_loops import counts, spins, waits
from triptych.kernel_ir.dialects.kernel_operations import walk


def loop(test: str, body: str = "", following: str = "%j", forwarded: str = "%i") -> str:
    """A loop that carries a number: `%i` in its test, `%j` in its body."""
    return f"""
    scf.while (%i = %c0) : (i32) -> i32 {{
      {test}
      scf.condition(%more) {forwarded} : i32
    }} do {{
    ^bb0(%j: i32):
      {body}
      scf.yield {following} : i32
    }}
    """


READ = "%word = llvm.load %p : !llvm.ptr<1> -> i32\n"
ZERO = "%more = arith.cmpi eq, %word, %c0 : i32\n"
STEP = "%k = arith.addi %j, %c1 : i32\n"


def found(text: str) -> tuple[Any, Any]:
    function, module = kernel(text)
    return next(operation for operation in walk(function) if operation.name == "scf.while"), module


@pytest.mark.parametrize(
    ("text", "is_waiting", "is_counting"),
    [
        (loop(READ + ZERO), True, False),
        (loop(READ + ZERO, STEP, "%k"), True, False),
        (
            loop(READ + "%both = arith.addi %word, %i : i32\n%more = arith.cmpi eq, %both, %c0 : i32", STEP, "%k"),
            True,
            True,
        ),
        (loop("%more = arith.cmpi slt, %i, %n : i32", STEP, "%k"), False, True),
        (loop("%more = arith.cmpi slt, %i, %n : i32"), False, False),
        (loop("%more = arith.cmpi slt, %i, %n : i32", following="%n"), False, False),
        (loop(READ + ZERO, "llvm.store %n, %p : i32, !llvm.ptr<1>"), False, False),
        (loop("%word = llvm.atomicrmw add %p, %n monotonic : !llvm.ptr<1>, i32\n" + ZERO), True, False),
        (
            loop(
                "%pair = llvm.cmpxchg %p, %n, %n acq_rel monotonic : !llvm.ptr<1>, i32\n"
                "%more = llvm.extractvalue %pair[1] : !llvm.struct<(i32, i1)>"
            ),
            True,
            False,
        ),
        (loop("%more = arith.cmpi slt, %n, %i : i32", READ, "%word"), True, False),
        (loop("%more = arith.cmpi slt, %n, %i : i32", READ), False, False),
        (loop(READ + "%more = arith.cmpi slt, %n, %i : i32"), False, False),
        (loop("%more = arith.cmpi slt, %n, %i : i32", READ + "%k = arith.addi %j, %word : i32", "%k"), True, True),
        (
            loop("%m = arith.addi %i, %c1 : i32\n%more = arith.cmpi slt, %i, %n : i32", forwarded="%m"),
            False,
            True,
        ),
        (
            loop(
                "%a = llvm.getelementptr %p[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32\n"
                "%word = llvm.load %a : !llvm.ptr<1> -> i32\n" + ZERO,
                STEP,
                "%k",
            ),
            False,
            True,
        ),
        (
            loop(
                "%a = llvm.getelementptr %p[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i32\n"
                "%word = llvm.load %a : !llvm.ptr<1> -> i32\n" + ZERO
            ),
            True,
            False,
        ),
        (
            loop(
                "%where = llvm.load %p : !llvm.ptr<1> -> !llvm.ptr<1>\n"
                "%word = llvm.load %where : !llvm.ptr<1> -> i32\n" + ZERO
            ),
            True,
            False,
        ),
    ],
    ids=[
        *("a word", "a word beside a counter", "a word and a counter", "a counter", "nothing", "a constant next"),
        *(
            "it stores",
            "an update",
            "an exchange",
            "a word of the body",
            "an unused word",
            "an unused word of the test",
        ),
        *("a sum of words", "a counter of the test", "a place that moves", "a place that does not"),
        "a place behind a place",
    ],
)
def test_loops(text: str, is_waiting: bool, is_counting: bool) -> None:
    waiting, _module = found(text)
    assert spins(waiting) is is_waiting
    assert waits(waiting) is is_waiting
    assert counts(waiting) is is_counting


def test_a_word_read_in_a_branch() -> None:
    branch = f"""
    %q = arith.cmpi slt, %n, %c1 : i32
    %word = scf.if %q -> (i32) {{ {READ.replace("%word", "%inner")} scf.yield %inner : i32 }} else
      {{ scf.yield %c1 : i32 }}
    """
    waiting, _module = found(loop(branch + ZERO))
    assert not counts(waiting)
    assert spins(waiting)


def test_loops_inside_others_wait() -> None:
    function, _module = kernel(f"scf.for %o = %c0 to %n step %c1 : i32 {{ {loop(READ + ZERO)} }}")
    outer = next(operation for operation in walk(function) if operation.name == "scf.for")
    assert not spins(outer)
    assert waits(outer)
    assert waits(function)
    plain, _other = kernel("scf.for %o = %c0 to %n step %c1 : i32 { }")
    assert not waits(plain)
