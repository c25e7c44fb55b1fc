"""Which loops wait for memory, also where their arithmetic is long."""

from __future__ import annotations

import pytest

from tests.unit.kernel_ir.kernels import kernel
from triptych.kernel_ir.analysis.spin_loops import counts, spins, waits
from triptych.kernel_ir.dialects.kernel_operations import walk

DEEP = 2000
"""Operations in a row: deeper than Python's stack, and with two uses of each more paths than can be walked."""


def mixing(start: str, count: int = DEEP) -> str:
    """`%m0` to `%m<count>`: each is made of the one before, twice."""
    rounds = (f"%m{i + 1} = arith.muli %m{i}, %m{i} : i32" for i in range(count))
    return "\n".join([f"%m0 = arith.addi {start}, %c1 : i32", *rounds])


def looping(address: str, body: str = "") -> str:
    """A loop that goes on while a word is zero; `%i` counts its iterations."""
    return f"""
    scf.while (%i = %c0) : (i32) -> i32 {{
      {address}
      %word = llvm.load %a : !llvm.ptr<1> -> i32
      %more = arith.cmpi eq, %word, %c0 : i32
      scf.condition(%more) %i : i32
    }} do {{
    ^bb0(%j: i32):
      {body}
      %k = arith.addi %j, %c1 : i32
      scf.yield %k : i32
    }}
    """


def at(index: str) -> str:
    return f"%a = llvm.getelementptr %p[{index}] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32"


@pytest.mark.parametrize(
    ("text", "waiting"),
    [
        (looping(at("%n")), True),
        (looping(at("%i")), False),
        (looping(at("%n"), "llvm.store %j, %p : i32, !llvm.ptr<1>"), False),
        (looping(mixing("%n") + at(f"%m{DEEP}")), True),
        (looping(mixing("%i") + at(f"%m{DEEP}")), False),
    ],
    ids=["one place", "a place that moves", "it stores", "a place of long arithmetic", "long arithmetic that moves"],
)
def test_a_loop_waits_when_it_reads_one_place(text: str, waiting: bool) -> None:
    function, _module = kernel(text)
    loop = next(found for found in walk(function) if found.name == "scf.while")
    assert spins(loop) is waiting
    assert waits(function) is waiting


def test_a_loop_that_tests_its_own_number_counts() -> None:
    function, _module = kernel(looping(at("%i")))
    loop = next(found for found in walk(function) if found.name == "scf.while")
    assert counts(loop)
    function, _module = kernel(looping(at("%n")))
    loop = next(found for found in walk(function) if found.name == "scf.while")
    assert not counts(loop)
