"""`simt.barrier_regions`: where barriers cut a kernel, what the block does once, and what needs coroutines."""

from __future__ import annotations

import pytest

from tests.unit.kernel_ir.kernels import kernel
from triptych.kernel_ir.analysis.uniformity import Shape, UniformityAnalysis
from triptych.targets.cpu.blocks.barrier_regions import (
    Item,
    NeedsCoroutines,
    Once,
    Segment,
    UniformControlFlow,
    partition_at_barriers,
    segments,
)

BLOCK = (256, 1, 1)


def said(item: Item) -> str:
    """`[store load; 1]`: a segment, its operations and how many values it copies; `once`; `if(...)`."""
    if isinstance(item, Segment):
        names = " ".join(operation.name.partition(".")[2] for operation in item.operations)
        copies = f"; {len(item.copies)}" if item.copies else ""
        return f"[{names}{copies}]" + ("*" if item.in_loop else "")
    if isinstance(item, Once):
        return str(item.operation.name.partition(".")[2])
    bodies = " | ".join(" ".join(map(said, inside)) for inside in item.bodies)
    return f"{item.operation.name.partition('.')[2]}({bodies})"


def cut(text: str, block: tuple[int, int, int] | None = BLOCK) -> str:
    """All items, and after a colon the operations that are the same for the block but each warp computes."""
    function, _module = kernel(text, block)
    items, per_warp = partition_at_barriers(function, UniformityAnalysis(function, Shape(32, block)))
    shown = " ".join(said(item) for item in items if not _is_of_the_prologue(item))
    return shown + "".join(f" : {operation.name}" for operation in per_warp)


def _is_of_the_prologue(item: Item) -> bool:
    names = ("gpu.", "arith.index_cast", "arith.constant")
    return isinstance(item, Once) and item.operation.name.startswith(names)


START = "[thread_id index_cast"
"""The number of a thread is of each warp."""
STORE = "llvm.store %t, %p : i32, !llvm.ptr<1>\n"
LOAD = "%w = llvm.load %p : !llvm.ptr<1> -> i32\n"
BARRIER = "gpu.barrier\n"


@pytest.mark.parametrize(
    ("text", "items"),
    [
        (STORE, f"{START} store]"),
        (BARRIER, f"{START}]"),
        (STORE + BARRIER + STORE, f"{START} store] [store]"),
        (STORE + BARRIER + BARRIER + STORE, f"{START} store] [store]"),
        ("%x = arith.addi %n, %c1 : i32\n" + STORE, f"addi {START} store]"),
        (LOAD + STORE, f"load {START} store]"),
        (STORE + LOAD, f"{START} store] load"),
        (STORE + BARRIER + LOAD, f"{START} store] load"),
        (STORE + LOAD + STORE, f"{START} store] load [store]"),
        ('%c = arith.cmpi eq, %n, %c1 : i32\ncf.assert %c, "told"\n' + STORE, f"cmpi assert {START} store]"),
        ('%c = arith.cmpi eq, %t, %c1 : i32\ncf.assert %c, "told"\n', f"{START} cmpi assert]"),
        ("%x = llvm.atomicrmw add %p, %n monotonic : !llvm.ptr<1>, i32\n", f"{START} atomicrmw]"),
        ("%x = llvm.load %p atomic monotonic {alignment = 4 : i64} : !llvm.ptr<1> -> i32\n", f"{START} load]"),
    ],
)
def test_straight_code(text: str, items: str) -> None:
    assert cut(text) == items


def test_a_check_of_a_warp_is_not_one_of_the_block() -> None:
    condition = "%w = arith.divui %t, %c32 : i32\n%c = arith.cmpi eq, %w, %n : i32\n"
    assert cut(condition + 'cf.assert %c, "told"\n') == f"{START} divui cmpi assert]"


def test_the_block_comes_before_the_warps() -> None:
    """What it computes is put in front of the segment that is still open."""
    function, _module = kernel(STORE + "%x = arith.addi %n, %c1 : i32\n" + STORE)
    items, _ = partition_at_barriers(function, UniformityAnalysis(function, Shape(32, BLOCK)))
    assert [type(item) for item in items[-2:]] == [Once, Segment]
    assert len([item for item in items if isinstance(item, Segment)]) == 1


def branch(condition: str, left: str, right: str = "") -> str:
    other = f"else {{ {right} }}" if right else ""
    return f"%q = arith.cmpi slt, {condition}, %n : i32\nscf.if %q {{ {left} }} {other}\n"


def loop(low: str, high: str, step: str, body: str) -> str:
    return f"scf.for %i = {low} to {high} step {step} : i32 {{ {body} }}\n"


@pytest.mark.parametrize(
    ("text", "items"),
    [
        (branch("%b", BARRIER + STORE), f"cmpi {START}] if([store] | )"),
        (branch("%b", STORE + BARRIER + STORE, BARRIER), f"cmpi {START}] if([store] [store] | )"),
        (branch("%b", STORE), f"cmpi {START} if]"),
        (branch("%b", "%x = arith.addi %n, %c1 : i32"), f"cmpi if {START}]"),
        (branch("%t", STORE), f"{START} cmpi if]"),
        (loop("%c0", "%n", "%c1", STORE + BARRIER), f"{START}] for([store]*)"),
        (loop("%c0", "%n", "%c1", STORE), f"{START} for]"),
        (loop("%c0", "%n", "%c1", "%x = arith.addi %i, %n : i32"), f"for {START}]"),
        (loop("%c0", "%n", "%c1", "%x = arith.addi %i, %t : i32"), f"{START} for]"),
        (loop("%c0", "%n", "%c1", LOAD), f"for {START}]"),
    ],
)
def test_control_flow(text: str, items: str) -> None:
    assert cut(text) == items


def test_what_a_branch_gives() -> None:
    text = "%q = arith.cmpi slt, %b, %n : i32\n%x = scf.if %q -> (i32) { gpu.barrier scf.yield %t : i32 } else"
    text += " { scf.yield %n : i32 }\n"
    assert cut(text) == f"cmpi {START}] if([; 1] | [; 1])"
    same = text.replace("%t : i32", "%c1 : i32")
    assert cut(same) == f"cmpi {START}] if( | )"


def test_what_a_loop_carries() -> None:
    text = f"""
    %x = scf.for %i = %c0 to %n step %c1 iter_args(%s = %t) -> (i32) : i32 {{
      {BARRIER}
      %y = arith.addi %s, %i : i32
      scf.yield %y : i32
    }}
    """
    assert cut(text) == f"{START}; 1] for([addi; 1]*)"
    assert cut(text.replace("scf.yield %y", "scf.yield %s")) == f"{START}; 1] for([addi]*)"


def test_a_loop_with_a_test() -> None:
    text = """
    %x:2 = scf.while (%i = %c0, %s = %t) : (i32, i32) -> (i32, i32) {
      gpu.barrier
      %q = arith.cmpi slt, %i, %n : i32
      scf.condition(%q) %i, %s : i32, i32
    } do {
    ^bb0(%j: i32, %r: i32):
      %k = arith.addi %j, %c1 : i32
      %l = arith.addi %r, %c1 : i32
      scf.yield %k, %l : i32, i32
    }
    """
    assert cut(text) == f"{START}; 1] while(cmpi [; 1]* | addi [addi; 1]*)"
    with pytest.raises(NeedsCoroutines):
        cut(text.replace("slt, %i", "slt, %s"))


@pytest.mark.parametrize(
    "text",
    [
        branch("%t", BARRIER),
        branch("%t", "", BARRIER),
        loop("%c0", "%t", "%c1", BARRIER),
        loop("%t", "%n", "%c32", BARRIER),
        loop("%c0", "%n", "%t", BARRIER),
        "%w = arith.divui %t, %c32 : i32\n" + branch("%w", BARRIER),
        "%w = arith.divui %t, %c32 : i32\n" + loop("%c0", "%w", "%c1", BARRIER),
        loop("%c0", "%n", "%c1", branch("%t", BARRIER)),
        branch("%b", branch("%t", BARRIER).replace("%q", "%r")),
    ],
)
def test_barriers_that_not_all_threads_come_to(text: str) -> None:
    with pytest.raises(NeedsCoroutines):
        cut(text)


@pytest.mark.parametrize(
    ("barrier", "block", "cuts"),
    [
        ('"simt.barrier"(%c1) : (i32) -> ()', BLOCK, True),
        ('"simt.barrier"(%c1) : (i32) -> ()', None, False),
        ('"simt.barrier"(%c1, %all) : (i32, i32) -> ()', BLOCK, True),
        ('"simt.barrier"(%c1, %all) : (i32, i32) -> ()', (16, 4, 4), True),
        ('"simt.barrier"(%c1, %all) : (i32, i32) -> ()', (128, 1, 1), False),
        ('"simt.barrier"(%c1, %c32) : (i32, i32) -> ()', BLOCK, False),
        ('"simt.barrier"(%c1, %n) : (i32, i32) -> ()', BLOCK, False),
        ('"simt.barrier_arrive"(%c1, %all) : (i32, i32) -> ()', BLOCK, False),
        ("gpu.barrier", None, True),
    ],
)
def test_named_barriers(barrier: str, block: tuple[int, int, int] | None, cuts: bool) -> None:
    text = f"%all = arith.constant 256 : i32\n{STORE}{barrier}\n{STORE}"
    if cuts:
        assert cut(text, block).endswith("store] [store]")
    else:
        with pytest.raises(NeedsCoroutines) as error:
            cut(text, block)
        assert error.value.operation.name in barrier


def test_what_every_warp_computes_although_it_is_the_same() -> None:
    text = "%x = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0) -> (i32) : i32 {"
    text += f" {STORE} %y = arith.addi %s, %c1 : i32 scf.yield %y : i32 }}\n"
    assert cut(text) == f"{START} for] : scf.for"


def test_segments_of_everything() -> None:
    text = STORE + loop("%c0", "%n", "%c1", STORE + BARRIER + STORE) + BARRIER + STORE
    function, _module = kernel(text)
    items, _ = partition_at_barriers(function, UniformityAnalysis(function, Shape(32, BLOCK)))
    assert [found.in_loop for found in segments(items)] == [False, True, True, False]
    assert sum(isinstance(item, UniformControlFlow) for item in items) == 1
