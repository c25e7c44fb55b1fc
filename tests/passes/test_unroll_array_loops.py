"""`unroll-array-loops`: a loop whose counter picks elements of a private array is marked to be written out."""

from __future__ import annotations

import pytest

from tests.passes.running import checked, kernel
from triptych.targets.nvptx.passes.unroll_array_loops import MOST_TURNS, unroll_array_loops


def program(turns: int, index: str) -> str:
    return kernel(
        f"""
        %0 = arith.constant 0 : i32
        %1 = arith.constant 1 : i32
        %n = arith.constant {turns} : i32
        %a = llvm.alloca %n x f32 : (i32) -> !llvm.ptr
        scf.for %i = %0 to %n step %1 : i32 {{
          %p = llvm.getelementptr %a[{index}] : (!llvm.ptr{", i32" if index == "%i" else ""}) -> !llvm.ptr, f32
          llvm.store %x, %p : f32, !llvm.ptr
        }}
        """,
        "%x: f32",
    )


def test_a_loop_over_an_array() -> None:
    checked(
        program(4, "%i"),
        unroll_array_loops,
        """
        # CHECK: #llvm.loop_unroll<full = true>
        # CHECK: scf.for
        # CHECK: } {llvm.loop_annotation = #loop_annotation}
        """,
    )


@pytest.mark.parametrize(("turns", "index"), [(4, "2"), (MOST_TURNS + 1, "%i")])
def test_constant_places_and_long_loops(turns: int, index: str) -> None:
    checked(program(turns, index), unroll_array_loops, "# CHECK-NOT: loop_annotation")
