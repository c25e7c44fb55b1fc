"""A block that one lane runs is a branch: what it assigns, and how it is left, holds for that lane, or is refused."""

from __future__ import annotations

from typing import Any

import pytest

import triptych as tt
from tests.ir.traced import traced_ir
from tests.laws.region_programs import FIRST, PROGRAMS, expected, outcome
from triptych.cutlass_dsl import Int32, while_generate, yield_out

DRAWN = ("constant", "return", "break of while", "append", "only inside", "first of two")
"""`python -m benchmarks.region_blocks` draws all."""


@pytest.mark.parametrize("where", FIRST)
@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.name in DRAWN], ids=lambda program: program.name)
def test_constructs_in_a_block_of_one_lane(program: Any, where: str) -> None:
    assert outcome(program, where) == expected(program, where)


@tt.jit
def assigns(n: tt.Int32) -> Any:
    v = 0
    with while_generate([Int32(0)], lambda x: x < n) as (x,):
        v = 1
        yield_out([x + 1])
    return v


@tt.jit
def returns(n: tt.Int32) -> Any:
    with while_generate([Int32(0)], lambda x: x < n) as (x,):
        yield_out([x + 1])
        if tt.const_expr(True):
            return n
    return n + 1


@tt.jit
def breaks(n: tt.Int32) -> Any:
    v = 0
    for _ in range(3):
        with while_generate([Int32(0)], lambda x: x < n) as (x,):
            yield_out([x + 1])
            if tt.const_expr(True):
                break
        v += 1
    return v


@pytest.mark.parametrize("function", [assigns, returns, breaks])
def test_a_loop_built_by_hand_carries_what_it_yields_and_nothing_else(function: Any) -> None:
    with pytest.raises(TypeError, match="a loop that is built by hand"):
        traced_ir(function, 3)


@tt.jit
def plain(n: tt.Int32) -> Any:
    with while_generate([Int32(0)], lambda x: x < n) as (x,):
        y = x + 1
        yield_out([y])
    return n


def test_a_loop_built_by_hand_may_use_variables_of_its_own() -> None:
    assert "scf.while" in traced_ir(plain, 3)
