"""`UniformityAnalysis` of lanes that need not do everything at one moment, as those of GPUs."""

from __future__ import annotations

import pytest

from tests.unit.kernel_ir.kernels import said_last

ALL = "%all = arith.constant -1 : i32"


@pytest.mark.parametrize(
    ("text", "together", "apart"),
    [
        ("%x = llvm.load %p : !llvm.ptr<1> -> i32", "block uniform", "varying"),
        ('%x = "simt.clock"() : () -> i32', "warp uniform", "varying"),
        ("%x = arith.divui %t, %c32 : i32", "warp uniform", "warp uniform"),
        ("%x = arith.addi %b, %n : i32", "block uniform", "block uniform"),
    ],
)
def test_what_changes_with_time(text: str, together: str, apart: str) -> None:
    assert said_last(text) == together
    assert said_last(text, lockstep=False) == apart


@pytest.mark.parametrize("lockstep", [True, False])
@pytest.mark.parametrize(("members", "said"), [("%all", "warp uniform"), ("%t", "varying")])
def test_lanes_that_name_the_same_lanes_agree(lockstep: bool, members: str, said: str) -> None:
    vote = f"""{ALL}
    %q = arith.cmpi slt, %t, %n : i32
    %x = "simt.vote"({members}, %q) {{kind = "any"}} : (i32, i1) -> i1
    """
    reduce = f"""{ALL}
    %x = "simt.reduce"(%t, {members}) {{kind = "add"}} : (i32, i32) -> i32
    """
    assert said_last(vote, lockstep=lockstep) == said
    assert said_last(reduce, lockstep=lockstep) == said


@pytest.mark.parametrize(("bound", "apart"), [("%n", "block uniform"), ("%t", "varying")])
def test_turns_of_a_loop_that_lanes_leave_one_by_one(bound: str, apart: str) -> None:
    text = f"""
    scf.for %i = %c0 to {bound} step %c1 : i32 {{
      %x = arith.addi %i, %c1 : i32
    }}
    """
    assert said_last(text, lockstep=False) == apart
    assert said_last(text).endswith("uniform")


@pytest.mark.parametrize(("bound", "apart"), [("%n", "block uniform"), ("%t", "varying")])
def test_carried_values_of_a_loop_that_lanes_leave_one_by_one(bound: str, apart: str) -> None:
    counted = f"""
    %sum = scf.for %i = %c0 to {bound} step %c1 iter_args(%s = %c0) -> (i32) : i32 {{
      %x = arith.addi %s, %c1 : i32
      scf.yield %x : i32
    }}
    """
    tested = f"""
    %end = scf.while (%i = %c0) : (i32) -> i32 {{
      %go = arith.cmpi slt, %i, {bound} : i32
      scf.condition(%go) %i : i32
    }} do {{
    ^bb0(%j: i32):
      %next = arith.addi %j, %c1 : i32
      scf.yield %next : i32
    }}
    """
    for text in (counted, tested):
        assert said_last(text, lockstep=False) == apart


def test_what_enters_a_loop_and_never_changes_is_the_same_in_every_turn() -> None:
    text = """
    scf.for %i = %c0 to %t step %c1 : i32 {
      %x = arith.addi %b, %c1 : i32
    }
    """
    assert said_last(text, lockstep=False) == "block uniform"
