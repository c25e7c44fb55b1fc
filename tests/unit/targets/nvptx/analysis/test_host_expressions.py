"""`host_expressions`, `kernels`: what a kernel computes of its arguments alone, and how the host does it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ir.filecheck import check, directives
from tests.passes.running import kernel, parsed
from triptych.ir.launch import launches
from triptych.ir.modules import Signature, operations_named
from triptych.ir.passes import verify
from triptych.kernel_ir.dialects.kernel_operations import walk
from triptych.stages import Leaf, Memory, SymbolicExtent
from triptych.targets.nvptx.analysis.extents import extents_given
from triptych.targets.nvptx.analysis.host_expressions import Expression, HostSide

BIG = 2**31 - 1
EVERYTHING = (-(2**31), BIG)
HOST = """
func.func @f(%p: !llvm.ptr<1>, %n: i32, %e: i32, %w: i64) {
  %one = arith.constant 1 : i32
  gpu.launch_func @kernels::@k blocks in (%one, %one, %one) threads in (%one, %one, %one) : i32
    args(%p : !llvm.ptr<1>, %n : i32, %e : i32, %w : i64)
  return
}
"""
PROLOGUE = """
%c0 = arith.constant 0 : i32
%c7 = arith.constant 7 : i32
%m3 = arith.constant -3 : i32
%tx = gpu.thread_id x
%t = arith.index_cast %tx : index to i32
"""


class Program:
    """A kernel whose argument `%e` is an extent, and the host's side of it."""

    def __init__(self, text: str) -> None:
        self.module = parsed(kernel(PROLOGUE + text, "%p: !llvm.ptr<1>, %n: i32, %e: i32, %w: i64", host=HOST))
        (self.kernel,) = operations_named(self.module, "gpu.func")
        (launch,) = launches(self.module)
        self.side = HostSide(self.kernel, launch, [False, False, True, False])

    def last(self) -> Any:
        return [found.results[0] for found in walk(self.kernel) if found.results][-1]

    def expression(self) -> Expression | None:
        return self.side.expression(self.last())


@pytest.mark.parametrize(
    "text",
    [
        *(
            f"%x = arith.{name} %n, %e : i32"
            for name in ("addi", "subi", "muli", "andi", "ori", "xori", "minsi", "maxsi", "minui", "maxui")
        ),
        *(f"%x = arith.{name} %n, %c7 : i32" for name in ("divui", "remui", "divsi", "remsi")),
        "%x = arith.cmpi slt, %n, %e : i32",
        "%q = arith.cmpi slt, %n, %e : i32 %x = arith.select %q, %n, %e : i32",
        "%x = arith.extsi %n : i32 to i64",
        "%x = arith.extui %n : i32 to i64",
        "%x = arith.trunci %w : i64 to i32",
        "%x = arith.constant 9 : i32",
    ],
)
def test_what_the_host_can_compute(text: str) -> None:
    assert Program(text).expression() is not None


@pytest.mark.parametrize(
    "text",
    [
        *(f"%x = arith.{name} %n, %e : i32" for name in ("divui", "remui", "divsi", "remsi")),
        *(f"%x = arith.{name} %n, %c0 : i32" for name in ("divui", "remui", "divsi", "remsi")),
        *(f"%x = arith.{name} %n, %m3 : i32" for name in ("divui", "divsi")),
        "%x = arith.addi %n, %t : i32",
        "%x = arith.addi %t, %n : i32",
        "%x = arith.shli %n, %e : i32",
        "%x = arith.constant 1.0 : f32",
        "%x = arith.index_cast %n : i32 to index",
        "%x = llvm.load %p : !llvm.ptr<1> -> i32",
        "%l = llvm.load %p : !llvm.ptr<1> -> i32 %x = arith.addi %l, %n : i32",
    ],
)
def test_what_only_threads_can(text: str) -> None:
    assert Program(text).expression() is None


def test_counters_of_loops_are_no_arguments() -> None:
    program = Program("scf.for %i = %c0 to %n step %c7 : i32 { %x = arith.addi %i, %n : i32 }")
    (addition,) = operations_named(program.kernel, "arith.addi")
    assert program.side.expression(addition.results[0]) is None


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("%x = arith.constant 9 : i32", (9, 9)),
        ("%x = arith.addi %n, %c0 : i32", EVERYTHING),
        ("%x = arith.addi %e, %c0 : i32", (0, BIG)),
        ("%x = arith.addi %e, %c7 : i32", EVERYTHING),
        ("%h = arith.divui %e, %c7 : i32 %x = arith.addi %h, %c7 : i32", (7, BIG // 7 + 7)),
        ("%h = arith.divsi %e, %c7 : i32 %x = arith.muli %h, %c7 : i32", (0, BIG // 7 * 7)),
        ("%x = arith.muli %e, %c7 : i32", EVERYTHING),
        ("%x = arith.divui %n, %c7 : i32", EVERYTHING),
        ("%x = arith.subi %e, %c0 : i32", EVERYTHING),
        ("%x = arith.minsi %e, %c7 : i32", (0, 7)),
        ("%x = arith.minui %e, %c7 : i32", (0, 7)),
        ("%x = arith.maxsi %e, %c7 : i32", (7, BIG)),
        ("%x = arith.maxui %e, %c7 : i32", (7, BIG)),
        ("%x = arith.maxsi %e, %m3 : i32", EVERYTHING),
        ("%x = arith.maxsi %m3, %e : i32", EVERYTHING),
        ("%x = arith.extsi %n : i32 to i64", EVERYTHING),
        ("%x = arith.extsi %e : i32 to i64", (0, BIG)),
        ("%x = arith.trunci %w : i64 to i32", EVERYTHING),
        ("%l = arith.extsi %e : i32 to i64 %x = arith.trunci %l : i64 to i32", (0, BIG)),
        ("%l = arith.extsi %e : i32 to i64 %x = arith.trunci %l : i64 to i16", (-(2**15), 2**15 - 1)),
        ("%x = arith.trunci %e : i32 to i31", (-(2**30), 2**30 - 1)),
        ("%x = arith.trunci %c7 : i32 to i4", (7, 7)),
        ("%x = arith.trunci %c7 : i32 to i3", (-4, 3)),
        ("%x = arith.constant -128 : i8", (-128, -128)),
    ],
)
def test_bounds(text: str, bounds: tuple[int, int]) -> None:
    found = Program(text).expression()
    assert found is not None
    assert found.bounds == bounds


@pytest.mark.parametrize(("rounds", "taken"), [(63, True), (64, False)])
def test_levels(rounds: int, taken: bool) -> None:
    sums = "".join(f"%s{i + 1} = arith.addi %s{i}, %n : i32\n" for i in range(1, rounds))
    found = Program(f"%s1 = arith.addi %n, %e : i32\n{sums}").expression()
    assert (found is not None) is taken
    assert found is None or found.levels == 64


def test_equal_expressions_are_one() -> None:
    program = Program("%x = arith.addi %n, %e : i32 %y = arith.addi %n, %e : i32 %z = arith.addi %e, %n : i32")
    first, second, third = (found.results[0] for found in operations_named(program.kernel, "arith.addi"))
    assert program.side.expression(first) is program.side.expression(second)
    assert program.side.expression(first) is not program.side.expression(third)


def test_the_host_computes_in_front_of_the_launch() -> None:
    text = """
    %s = arith.addi %n, %c7 : i32
    %q = arith.cmpi sgt, %s, %e : i32
    %x = arith.select %q, %s, %e : i32
    """
    program = Program(text)
    found = program.expression()
    assert found is not None
    with program.module.context:
        made = program.side.compute(found)
        assert program.side.compute(found) == made
        assert program.side.give(made) == 4
        assert program.side.give(made) == 5
        program.side.finish()
    verify(program.module)
    check(
        str(program.module),
        directives(
            """
            # CHECK: gpu.func @k(%arg0: !llvm.ptr<1>, %arg1: i32, %arg2: i32, %arg3: i64, %arg4: i32, %arg5: i32)
            # CHECK: func.func @f(
            # CHECK: arith.constant 7 : i32
            # CHECK-NEXT: arith.addi %arg1, %c7_i32 : i32
            # CHECK-NEXT: arith.cmpi sgt, %{{\\w+}}, %arg2 : i32
            # CHECK-NEXT: arith.select
            # CHECK-NEXT: gpu.launch_func
            # CHECK: %{{\\w+}} : i32, %{{\\w+}} : i32)
            """
        ),
    )


def test_a_launch_that_is_given_nothing_stays() -> None:
    program = Program("")
    before = str(program.module)
    program.side.finish()
    assert str(program.module) == before
    assert len(program.side.grid) == 3


# extents ------------------------------------------------------------------------------------------------------------
def tensor(*unknowns: str) -> Leaf:
    shape = unknowns or ("8",)
    given = tuple(SymbolicExtent(name, 32) for name in unknowns)
    return Leaf("t", "Float32", Memory(1, 4, shape, ("1",) * len(shape), given))


@pytest.mark.parametrize(
    ("parameters", "extents"),
    [
        ((tensor("n", "m"), Leaf("w", "Int64")), [False, True, True, False]),
        ((tensor("n"), Leaf("e", "Int32"), Leaf("w", "Int64")), [False, True, False, False]),
        ((tensor(), Leaf("n", "Int32"), Leaf("e", "Int32"), Leaf("w", "Int64")), [False] * 4),
        ((Leaf("p", "Int64"), tensor("e", "w")), [False, False, True, True]),
    ],
)
def test_extents_follow_the_address_of_their_tensor(parameters: tuple[Leaf, ...], extents: list[bool]) -> None:
    module = parsed(kernel("", "%p: !llvm.ptr<1>, %n: i32, %e: i32, %w: i64", host=HOST))
    (launch,) = launches(module)
    assert extents_given(module, Signature("f", parameters, ()), launch) == extents


def test_what_the_host_computes_is_no_extent() -> None:
    host = HOST.replace("gpu.launch", "%two = arith.addi %n, %n : i32\ngpu.launch").replace(
        "args(%p : !llvm.ptr<1>, %n", "args(%p : !llvm.ptr<1>, %two"
    )
    module = parsed(kernel("", "%p: !llvm.ptr<1>, %n: i32, %e: i32, %w: i64", host=host))
    (launch,) = launches(module)
    signature = Signature("f", (tensor("n", "e"), Leaf("w", "Int64")), ())
    assert extents_given(module, signature, launch) == [False, False, True, False]
