"""`unroll-array-loops`: a loop whose counter picks elements of a private array is marked to be written out."""

from __future__ import annotations

import pytest

from tests.passes.running import checked, kernel
from triptych.kernel_ir.transforms.private_arrays import MOST_TURNS, unroll_array_loops


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


def in_loop(low: str, high: str, step: int, hint: str = "", pointer: str = "%a") -> str:
    bounds = {"%n": "%n"}
    constants = "".join(
        f"%{name} = arith.constant {text} : i32\n"
        for name, text in (("low", low), ("high", high))
        if text not in bounds
    )
    low, high = (bounds.get(text, f"%{name}") for name, text in (("low", low), ("high", high)))
    return kernel(
        f"""
        {constants}
        %step = arith.constant {step} : i32
        %c = arith.constant 4 : i32
        %a = llvm.alloca %c x f32 : (i32) -> !llvm.ptr
        scf.for %i = {low} to {high} step %step : i32 {{
          %q = llvm.getelementptr {pointer}[%i] : (!llvm.ptr, i32) -> !llvm.ptr, f32
          llvm.store %x, %q : f32, !llvm.ptr
        }} {hint}
        """,
        "%x: f32, %n: i32, %p: !llvm.ptr",
    )


@pytest.mark.parametrize(
    ("program", "is_marked"),
    [
        (in_loop("0", "256", 1), True),
        (in_loop("0", "257", 1), False),
        (in_loop("1", "257", 1), True),
        (in_loop("0", "512", 2), True),
        (in_loop("0", "513", 2), False),
        (in_loop("9", "0", 1), True),
        (in_loop("0", "%n", 1), False),
        (in_loop("%n", "4", 1), False),
        (in_loop("0", "4", 1, pointer="%p"), False),
    ],
)
def test_which_loops_are_written_out(program: str, is_marked: bool) -> None:
    checked(program, unroll_array_loops, "# CHECK: full = true" if is_marked else "# CHECK-NOT: loop_annotation")


def test_a_hint_of_the_program_is_respected() -> None:
    hint = "{llvm.loop_annotation = #llvm.loop_annotation<unroll = <disable = true>>}"
    checked(in_loop("0", "4", 1, hint), unroll_array_loops, "# CHECK: disable = true\n# CHECK-NOT: full = true")


def test_every_loop_around() -> None:
    nested = program(4, "%i").replace("scf.for %i", "scf.for %j = %0 to %n step %1 : i32 {\nscf.for %i")
    nested = nested.replace("gpu.return", "}\ngpu.return")
    checked(nested, unroll_array_loops, "# CHECK-COUNT-2: {llvm.loop_annotation = #loop_annotation}")
