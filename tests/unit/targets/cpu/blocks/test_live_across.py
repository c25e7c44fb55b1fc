"""`barrier_regions`: which values go to memory between segments, and which are made again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.kernel_ir.kernels import kernel
from triptych.kernel_ir.analysis.uniformity import Shape, UniformityAnalysis
from triptych.kernel_ir.dialects.kernel_operations import producer, walk
from triptych.targets.cpu.blocks.barrier_regions import Item, LiveAcross, Segment, partition_at_barriers, segments

BARRIER = "gpu.barrier\n"


class Kernel:
    """A kernel cut at its barriers; values are named by their place among results of operations of one name."""

    def __init__(self, text: str) -> None:
        self.function, self._module = kernel(text)
        analysis = UniformityAnalysis(self.function, Shape(32, (256, 1, 1)))
        self.items: list[Item] = partition_at_barriers(self.function, analysis)[0]
        self.live = LiveAcross(self.items, analysis)

    def results(self, name: str) -> list[Any]:
        return [result for found in walk(self.function) if found.name == name for result in found.results]

    @property
    def last(self) -> Segment:
        return list(segments(self.items))[-1]


def use(value: str, kind: str = "i32") -> str:
    return f"llvm.store {value}, %p : {kind}, !llvm.ptr<1>\n"


ADDRESS = "%a = llvm.getelementptr %p[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32\n"
LOAD = ADDRESS + "%v = llvm.load %a : !llvm.ptr<1> -> f32\n"


def test_what_is_read_goes_to_memory() -> None:
    found = Kernel(LOAD + BARRIER + use("%v", "f32"))
    (value,) = found.results("llvm.load")
    assert found.live.spilled == {value}
    assert found.live.stored(value)
    assert not found.live.is_rematerializable(value)
    assert found.live.needs(found.last) == [value]
    assert found.live.place(value) == value


def test_what_nobody_reads_later_does_not() -> None:
    found = Kernel(LOAD + use("%v", "f32") + BARRIER + use("%n"))
    (value,) = found.results("llvm.load")
    assert found.live.spilled == set()
    assert not found.live.stored(value)
    assert found.live.needs(found.last) == []


@pytest.mark.parametrize(
    ("text", "name", "kind", "is_rematerializable"),
    [
        ("%x = arith.addi %t, %c1 : i32\n", "arith.addi", "i32", True),
        (
            "%x = llvm.getelementptr %p[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32\n",
            "llvm.getelementptr",
            "!llvm.ptr<1>",
            True,
        ),
        ("%x = arith.cmpi slt, %t, %n : i32\n", "arith.cmpi", "i1", True),
        ("%x = arith.sitofp %t : i32 to f32\n", "arith.sitofp", "f32", False),
        ("%x = arith.extsi %t : i32 to i128\n", "arith.extsi", "i128", False),
        ("%x = llvm.atomicrmw add %p, %n monotonic : !llvm.ptr<1>, i32\n", "llvm.atomicrmw", "i32", False),
        (LOAD + "%x = arith.fptosi %v : f32 to i32\n", "arith.fptosi", "i32", False),
    ],
)
def test_integer_arithmetic_is_made_again(text: str, name: str, kind: str, is_rematerializable: bool) -> None:
    found = Kernel(text + BARRIER + use("%x", kind))
    value = found.results(name)[-1]
    assert found.live.is_rematerializable(value) is is_rematerializable
    assert found.live.stored(value) is not is_rematerializable
    assert (value in found.live.spilled) is not is_rematerializable
    assert found.live.needs(found.last)[-1] == value


def test_what_is_made_again_needs_what_it_is_made_of() -> None:
    found = Kernel("%x = arith.addi %t, %c1 : i32\n" + BARRIER + use("%x"))
    names = [producer(value).name for value in found.live.needs(found.last)]
    assert names == ["gpu.thread_id", "arith.index_cast", "arith.addi"]


@pytest.mark.parametrize(("count", "is_rematerializable"), [(62, True), (63, False)])
def test_long_arithmetic_is_kept(count: int, is_rematerializable: bool) -> None:
    """The number of the thread is two operations."""
    sums = "".join(f"%x{i + 1} = arith.addi %x{i}, %n : i32\n" for i in range(1, count))
    found = Kernel(f"%x1 = arith.addi %t, %n : i32\n{sums}{BARRIER}" + use(f"%x{count}"))
    assert found.live.is_rematerializable(found.results("arith.addi")[-1]) is is_rematerializable


def test_values_of_the_block_need_no_home() -> None:
    found = Kernel("%x = arith.muli %n, %n : i32\n" + BARRIER + use("%x"))
    (value,) = found.results("arith.muli")
    assert found.live.is_rematerializable(value)
    assert found.live.spilled == set()
    assert found.live.needs(found.last) == []


def test_arrays_are_no_numbers() -> None:
    found = Kernel(
        "%c = arith.constant 4 : i32\n%x = llvm.alloca %c x f32 : (i32) -> !llvm.ptr\n"
        + BARRIER
        + use("%x", "!llvm.ptr")
    )
    (value,) = found.results("llvm.alloca")
    assert found.live.is_rematerializable(value)


def test_homes_are_free_after_the_last_use() -> None:
    found = Kernel(LOAD + BARRIER + use("%v", "f32") + BARRIER + use("%v", "f32") + BARRIER + use("%n"))
    (value,) = found.results("llvm.load")
    cut = list(segments(found.items))
    assert [found.live.ending(segment) for segment in cut] == [[], [], [value], []]


LOOP = """
%x = scf.for %i = %c0 to %n step %c1 iter_args(%s = %v) -> (f32) : i32 {
  FIRST
  gpu.barrier
  SECOND
  scf.yield %y : f32
}
"""


def test_a_loop_carries_in_place() -> None:
    loop = LOOP.replace("FIRST", "").replace("SECOND", "%y = arith.addf %s, %s : f32")
    found = Kernel(LOAD + loop + use("%x", "f32"))
    (result,) = found.results("scf.for")
    (following,) = found.results("arith.addf")
    carried = found.live.place(result)
    assert carried == found.live.place(following) != following
    assert found.live.spilled == {carried}
    assert found.live.stored(following)
    assert not found.live.is_rematerializable(result)
    assert result in found.live.needs(found.last)


def test_a_value_that_is_still_read_is_not_overwritten() -> None:
    loop = LOOP.replace("FIRST", "%y = arith.addf %s, %s : f32").replace("SECOND", use("%s", "f32"))
    found = Kernel(LOAD + loop + use("%x", "f32"))
    (following,) = found.results("arith.addf")
    assert found.live.place(following) == following
    inside = [segment for segment in segments(found.items) if segment.in_loop]
    assert [len(segment.copies) for segment in inside] == [0, 1]


def test_an_empty_segment_goes() -> None:
    loop = LOOP.replace("FIRST", "%y = arith.addf %s, %s : f32").replace("SECOND", "")
    found = Kernel(LOAD + loop + use("%x", "f32"))
    inside = [segment for segment in segments(found.items) if segment.in_loop]
    assert [len(segment.operations) for segment in inside] == [1]
    (following,) = found.results("arith.addf")
    assert found.live.place(following) != following


def test_branches_have_homes_of_their_own() -> None:
    text = LOAD + "%q = arith.cmpi slt, %b, %n : i32\n%x = scf.if %q -> (f32) { gpu.barrier scf.yield %v : f32 } else"
    text += " { %z = arith.constant 1.0 : f32 scf.yield %z : f32 }\n"
    found = Kernel(text + use("%x", "f32"))
    (result,) = found.results("scf.if")
    (value,) = found.results("llvm.load")
    assert result in found.live.spilled
    assert value in found.live.spilled
    assert found.live.place(result) == result


def test_other_loops_have_two_homes() -> None:
    text = """
    %x = scf.while (%s = %v) : (f32) -> f32 {
      gpu.barrier
      %q = arith.cmpi slt, %b, %n : i32
      scf.condition(%q) %s : f32
    } do {
    ^bb0(%r: f32):
      %y = arith.addf %r, %r : f32
      scf.yield %y : f32
    }
    """
    found = Kernel(LOAD + text + use("%x", "f32"))
    (result,) = found.results("scf.while")
    assert len(found.live.spilled) == 2
    assert found.live.place(result) != result
