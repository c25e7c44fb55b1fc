"""`simt.uniformity`: what every operation of a kernel makes of what is known of its operands."""

from __future__ import annotations

import pytest

from tests.unit.kernel_ir.kernels import kernel, said_last
from triptych.ir.handles import Operation
from triptych.kernel_ir.analysis import uniformity
from triptych.kernel_ir.analysis.lanes import Lanes
from triptych.kernel_ir.analysis.uniformity import Shape, UniformityAnalysis
from triptych.kernel_ir.dialects.kernel_operations import walk, writes

WARP_UNIFORM, BLOCK_UNIFORM, VARYING = "warp uniform", "block uniform", "varying"
STEPS = "warp base + lane*1"
ROWS = "warp base + rows of run-time length"
KNOWN = "warp base + known differences"


def last(text: str, block: tuple[int, int, int] | None = (256, 1, 1), width: int = 32) -> Lanes:
    function, _module = kernel(text, block)
    analysis = UniformityAnalysis(function, Shape(width, block))
    value = [found.results[0] for found in walk(function) if found.results][-1]
    return analysis.at(value)


# threads ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("block", "axis", "said"),
    [
        ((256, 1, 1), "x", STEPS),
        ((32, 1, 1), "x", "block base + lane*1"),
        ((16, 1, 1), "x", "block base + lane*1"),
        ((64, 2, 1), "x", STEPS),
        ((16, 2, 1), "x", "block base + known differences"),
        ((16, 2, 1), "y", "block base + known differences"),
        ((16, 4, 1), "y", KNOWN),
        ((32, 4, 1), "y", WARP_UNIFORM),
        ((32, 4, 2), "y", WARP_UNIFORM),
        ((64, 4, 1), "y", WARP_UNIFORM),
        ((8, 2, 4), "z", KNOWN),
        ((8, 2, 2), "z", "block base + known differences"),
        ((32, 1, 4), "z", WARP_UNIFORM),
        ((256, 1, 1), "y", "0"),
        ((1, 1, 64), "x", "0"),
        ((1, 1, 64), "z", STEPS),
        ((24, 4, 1), "y", VARYING),
        ((24, 4, 1), "x", VARYING),
        (None, "x", VARYING),
        (None, "z", VARYING),
    ],
)
def test_thread_numbers(block: tuple[int, int, int] | None, axis: str, said: str) -> None:
    assert said_last(f"%x = gpu.thread_id {axis}", block) == said


def test_thread_numbers_by_lane() -> None:
    assert last("%x = gpu.thread_id x", (16, 4, 1)).offsets == (*range(16), *range(16))
    assert last("%x = gpu.thread_id y", (16, 4, 1)).offsets == (0,) * 16 + (1,) * 16
    assert last("%x = gpu.thread_id x", (16, 4, 1)).constant == 0
    assert last("%x = gpu.thread_id x", (64, 1, 1)).constant is None
    assert last("%x = gpu.thread_id x", (32, 1, 1)).constant == 0
    assert last("%x = gpu.thread_id z", (8, 2, 4)).offsets == (0,) * 16 + (1,) * 16
    assert last("%x = gpu.thread_id x", (64, 1, 1)).divisor == 32


def test_lane_numbers() -> None:
    assert said_last("%x = gpu.lane_id", None) == "block base + lane*1"
    assert last("%x = gpu.lane_id", None).constant == 0
    assert said_last("%x = gpu.lane_id", None, width=16) == STEPS
    assert last("%x = gpu.lane_id", None, width=16).divisor == 16


@pytest.mark.parametrize("name", ["block_id", "block_dim", "grid_dim"])
def test_numbers_of_blocks(name: str) -> None:
    assert said_last(f"%x = gpu.{name} x") == BLOCK_UNIFORM


# arithmetic ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("%x = arith.subi %t, %c1 : i32", STEPS),
        ("%x = arith.subi %c16, %t : i32", "warp base + lane*-1"),
        ("%x = arith.shli %t, %c1 : i32", "warp base + lane*2"),
        ("%x = arith.shrui %t, %c1 : i32", KNOWN),
        ("%x = arith.shrsi %t, %c1 : i32", KNOWN),
        ("%x = arith.andi %t, %c1 : i32", "block base + known differences"),
        ("%x = arith.ori %t, %c1 : i32", KNOWN),
        ("%x = arith.muli %n, %t : i32", ROWS),
        ("%x = arith.muli %n, %n : i32", BLOCK_UNIFORM),
        ("%x = arith.addi %c16, %c16 : i32", "32"),
        ("%x = arith.divsi %t, %c16 : i32", VARYING),
        ("%x = arith.divsi %b, %c16 : i32", BLOCK_UNIFORM),
        ("%x = arith.constant 1.0 : f32", BLOCK_UNIFORM),
        ("%x = arith.constant true", "-1"),
        ("%v = vector.broadcast %t : i32 to vector<4xi32>\n%x = arith.addi %v, %v : vector<4xi32>", VARYING),
        ("%v = vector.broadcast %n : i32 to vector<4xi32>\n%x = arith.muli %v, %v : vector<4xi32>", BLOCK_UNIFORM),
        ("%k = arith.constant 2147483647 : i32\n%x = arith.addi %k, %c1 : i32", "-2147483648"),
        ("%k = arith.constant 134217727 : i32\n%x = arith.muli %t, %k : i32", VARYING),
        ("%k = arith.constant 67108864 : i32\n%x = arith.muli %t, %k : i32", "warp base + lane*67108864"),
        ("%k = arith.constant 69273666 : i32\n%x = arith.muli %t, %k : i32", "warp base + lane*69273666"),
        ("%k = arith.constant 69273667 : i32\n%x = arith.muli %t, %k : i32", VARYING),
    ],
)
def test_arithmetic(text: str, said: str) -> None:
    assert said_last(text) == said


SWIZZLED = """
    %k32 = arith.constant 32 : i32
    %k16 = arith.constant 16 : i32
    %k2 = arith.constant 2 : i32
    %k4 = arith.constant 4 : i32
    %k3 = arith.constant 3 : i32
    %k8 = arith.constant 8 : i32
    %w = arith.divui %t, %k32 : i32
    %row = arith.remui %t, %k16 : i32
    %far = arith.muli %w, {factor} : i32
    %near = arith.muli %row, %k4 : i32
    %whole = arith.addi %far, %near : i32
    %some = arith.addi %whole, %k2 : i32
    %eighth = arith.divui %some, %k8 : i32
    %back = arith.muli %w, {less} : i32
    %low = arith.addi %eighth, %back : i32
    %bits = arith.andi %low, %k3 : i32
    %x = arith.xori %bits, %near : i32
"""
"""As layouts of swizzled tiles are written: a part of the warp's row is added, divided, and taken away again."""


def swizzled(factor: int, less: int, block: tuple[int, int, int] = (128, 1, 1)) -> Lanes:
    constants = {"factor": factor, "less": less}
    made = "".join(f"%{name} = arith.constant {value} : i32\n" for name, value in constants.items())
    return last(made + SWIZZLED.format(factor="%factor", less="%less"), block)


def test_a_swizzle_keeps_known_distances() -> None:
    rows = [lane % 16 for lane in range(32)]
    expected = [((4 * row + 2) // 8 % 4) ^ 4 * row for row in rows]
    assert swizzled(136, -17).numbers == tuple(expected)


@pytest.mark.parametrize(("factor", "less"), [(136, -16), (140, -17), (1 << 30, -(1 << 27))])
def test_what_does_not_cancel_out_varies(factor: int, less: int) -> None:
    """Also because it may wrap around."""
    assert not swizzled(factor, less).known


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("%x = arith.select %q, %t, %t : i32", VARYING),
        ("%q2 = arith.cmpi eq, %n, %b : i32\n%x = arith.select %q2, %t, %t : i32", STEPS),
        ("%q2 = arith.cmpi eq, %n, %b : i32\n%x = arith.select %q2, %t, %n : i32", VARYING),
        ("%q2 = arith.cmpi eq, %n, %b : i32\n%x = arith.select %q2, %c0, %n : i32", BLOCK_UNIFORM),
        (
            "%w = arith.divui %t, %c32 : i32\n%q2 = arith.cmpi eq, %w, %n : i32\n%x = arith.select %q2, %c0, %n : i32",
            WARP_UNIFORM,
        ),
        ("%q2 = arith.constant true\n%x = arith.select %q2, %c16, %t : i32", "16"),
        ("%q2 = arith.constant false\n%x = arith.select %q2, %c16, %t : i32", STEPS),
    ],
)
def test_selects(text: str, said: str) -> None:
    assert said_last(f"%q = arith.cmpi slt, %t, %n : i32\n{text}") == said


# casts --------------------------------------------------------------------------------------------------------------
ADDRESS = "%a = llvm.getelementptr %p[%e] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32"
UNALIGNED = "%s = arith.addi %t, %n : i32\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("%x = arith.extsi %n : i32 to i64", BLOCK_UNIFORM),
        ("%x = arith.extsi %t : i32 to i64", STEPS),
        ("%x = arith.extui %t : i32 to i64", STEPS),
        ("%x = arith.trunci %t : i32 to i16", STEPS),
        ("%x = arith.trunci %t : i32 to i9", STEPS),
        ("%x = arith.trunci %t : i32 to i8", VARYING),
        ("%x = arith.trunci %n : i32 to i8", BLOCK_UNIFORM),
        (UNALIGNED + "%x = arith.trunci %s : i32 to i16", STEPS),
        (UNALIGNED + "%x = arith.index_cast %s : i32 to index\n%y = arith.cmpi eq, %x, %x : index", VARYING),
        (UNALIGNED + f"%e = arith.extsi %s : i32 to i64\n{ADDRESS}", "warp base + lane*4"),
        (UNALIGNED + f"%e = arith.extui %s : i32 to i64\n{ADDRESS}", VARYING),
        (UNALIGNED + f"%e = arith.extui %s {{triptych.signed}} : i32 to i64\n{ADDRESS}", "warp base + lane*4"),
        (
            UNALIGNED + f"%h = arith.trunci %s : i32 to i16\n%e = arith.extsi %h : i16 to i64\n{ADDRESS}",
            VARYING,
        ),
        (
            UNALIGNED
            + "%f = arith.extsi %s : i32 to i64\n%one = arith.constant 1 : i64\n%g = arith.addi %f, %one : i64\n"
            + f"%e = arith.muli %g, %one : i64\n{ADDRESS}",
            "warp base + lane*4",
        ),
        (
            UNALIGNED + f"%e = arith.extsi %s : i32 to i64\n%z = arith.cmpi eq, %e, %e : i64\n{ADDRESS}",
            VARYING,
        ),
        ("%m = arith.muli %t, %n : i32\n%x = arith.trunci %m : i32 to i16", VARYING),
        ("%m = arith.muli %t, %n : i32\n%x = arith.extsi %m : i32 to i64", VARYING),
        ("%k = arith.constant -1 : i8\n%x = arith.extui %k : i8 to i32", "255"),
        ("%k = arith.constant -1 : i8\n%x = arith.extsi %k : i8 to i32", "-1"),
        ("%k = arith.constant 300 : i32\n%x = arith.trunci %k : i32 to i8", "44"),
        ("%k = arith.constant -1 : i32\n%x = arith.index_castui %k : i32 to index", "4294967295"),
    ],
)
def test_casts(text: str, said: str) -> None:
    assert said_last(text) == said


def test_extended_sums_are_addresses_only_of_32_bits() -> None:
    half = "%h = arith.trunci %n : i32 to i16\n%g = arith.trunci %t : i32 to i16\n%s = arith.addi %h, %g : i16\n"
    assert said_last(half + f"%e = arith.extsi %s : i16 to i64\n{ADDRESS}") == VARYING


# memory -------------------------------------------------------------------------------------------------------------
ARRAY = "%c = arith.constant 3 : i32\n%x = llvm.alloca %c x f32 {alignment = 16 : i64} : (i32) -> !llvm.ptr"


def test_arrays_lie_lane_after_lane() -> None:
    assert said_last(ARRAY) == "warp base + lane*16"
    function, _module = kernel(ARRAY)
    array = next(found for found in walk(function) if found.name == "llvm.alloca").results[0]
    analysis = UniformityAnalysis(function, Shape(32, (256, 1, 1)), by_element=frozenset({array}))
    assert str(analysis.at(array)) == VARYING


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("%x = llvm.getelementptr %p[2] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32", BLOCK_UNIFORM),
        ("%x = llvm.getelementptr %p[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f64", "warp base + lane*8"),
        (
            "%x = llvm.getelementptr %p[0, %n] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x f32>",
            BLOCK_UNIFORM,
        ),
        ("%x = llvm.getelementptr %p[0, %t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<4 x f32>", VARYING),
        (
            "%a = llvm.getelementptr %p[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32\n"
            "%x = llvm.load %a : !llvm.ptr<1> -> f32",
            VARYING,
        ),
        ("%x = llvm.load %p atomic monotonic {alignment = 4 : i64} : !llvm.ptr<1> -> i32", WARP_UNIFORM),
        (
            "%w = arith.divui %t, %c32 : i32\n"
            "%a = llvm.getelementptr %p[%w] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32\n"
            "%x = llvm.load %a : !llvm.ptr<1> -> f32",
            WARP_UNIFORM,
        ),
        ("%x = llvm.atomicrmw add %p, %n monotonic : !llvm.ptr<1>, i32", VARYING),
        ("%x = llvm.mlir.zero : !llvm.ptr", BLOCK_UNIFORM),
    ],
)
def test_memory(text: str, said: str) -> None:
    assert said_last(text) == said


# lanes together -----------------------------------------------------------------------------------------------------
SHUFFLE = '%x = "simt.shuffle"(%m, VALUE, FROM, %clamp) {kind = "KIND"} : (i32, i32, i32, i32) -> i32'


@pytest.mark.parametrize(
    ("value", "source", "clamp", "kind", "said"),
    [
        ("%t", "%c1", 31, "idx", WARP_UNIFORM),
        ("%t", "%n", 31, "idx", WARP_UNIFORM),
        ("%t", "%t", 31, "idx", VARYING),
        ("%t", "%c1", 30, "idx", VARYING),
        ("%t", "%c1", 32, "idx", VARYING),
        ("%t", "%c1", 31, "bfly", VARYING),
        ("%n", "%t", 31, "bfly", WARP_UNIFORM),
    ],
)
def test_shuffles(value: str, source: str, clamp: int, kind: str, said: str) -> None:
    text = f"%m = arith.constant -1 : i32\n%clamp = arith.constant {clamp} : i32\n"
    text += SHUFFLE.replace("VALUE", value).replace("FROM", source).replace("KIND", kind)
    assert said_last(text) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('%x = "simt.vote"(%n, %q) {kind = "any"} : (i32, i1) -> i1', WARP_UNIFORM),
        ('%x = "simt.match"(%n, %n) : (i32, i32) -> i32', VARYING),
        ('%x = "simt.clock"() : () -> i32', WARP_UNIFORM),
    ],
)
def test_operations_of_warps(text: str, said: str) -> None:
    assert said_last(f"%q = arith.cmpi slt, %t, %n : i32\n{text}") == said


# control flow -------------------------------------------------------------------------------------------------------
def branch(condition: str, left: str, right: str) -> str:
    sides = f"{{ scf.yield {left} : i32 }} else {{ scf.yield {right} : i32 }}"
    return f"{condition}\n%x = scf.if %q -> (i32) {sides}"


UNIFORM_CONDITION = "%q = arith.cmpi slt, %b, %n : i32"
WARP_CONDITION = "%w = arith.divui %t, %c32 : i32\n%q = arith.cmpi slt, %w, %n : i32"
DIVERGENT_CONDITION = "%q = arith.cmpi slt, %t, %n : i32"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (branch(UNIFORM_CONDITION, "%c0", "%n"), BLOCK_UNIFORM),
        (branch(WARP_CONDITION, "%c0", "%n"), WARP_UNIFORM),
        (branch(UNIFORM_CONDITION, "%t", "%t"), STEPS),
        (branch(UNIFORM_CONDITION, "%t", "%n"), VARYING),
        (branch(DIVERGENT_CONDITION, "%c1", "%c1"), "1"),
        (branch(DIVERGENT_CONDITION, "%n", "%n"), VARYING),
        (branch(DIVERGENT_CONDITION, "%c1", "%c0"), VARYING),
        (branch("%r = arith.muli %t, %n : i32\n" + UNIFORM_CONDITION, "%r", "%r"), VARYING),
    ],
)
def test_branches(text: str, said: str) -> None:
    assert said_last(text) == said


def counted(low: str, high: str, step: str, body: str = "%y = arith.addi %i, %s : i32", start: str = "%c0") -> str:
    loop = f"scf.for %i = {low} to {high} step {step} iter_args(%s = {start}) -> (i32) : i32"
    return f"%w = arith.divui %t, %c32 : i32\n%x = {loop} {{ {body} scf.yield %y : i32 }}"


def of_loop(text: str) -> tuple[str, str, str]:
    """What is said of the counter, of the carried value and of the result."""
    function, _module = kernel(text)
    analysis = UniformityAnalysis(function, Shape(32, (256, 1, 1)))
    loop = next(found for found in walk(function) if found.name == "scf.for")
    counter, carried = loop.regions[0].blocks[0].arguments
    return str(analysis.at(counter)), str(analysis.at(carried)), str(analysis.at(loop.results[0]))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (counted("%c0", "%n", "%c1"), (BLOCK_UNIFORM, BLOCK_UNIFORM, BLOCK_UNIFORM)),
        (counted("%w", "%n", "%c1"), (WARP_UNIFORM, WARP_UNIFORM, WARP_UNIFORM)),
        (counted("%c0", "%w", "%c1"), (WARP_UNIFORM, WARP_UNIFORM, WARP_UNIFORM)),
        (counted("%c0", "%n", "%w"), (WARP_UNIFORM, WARP_UNIFORM, WARP_UNIFORM)),
        (counted("%c0", "%t", "%c1"), (WARP_UNIFORM, WARP_UNIFORM, VARYING)),
        (counted("%t", "%n", "%c32"), (STEPS, VARYING, VARYING)),
        (counted("%t", "%n", "%t"), (VARYING, VARYING, VARYING)),
        (counted("%c0", "%n", "%c1", start="%t"), (BLOCK_UNIFORM, STEPS, STEPS)),
        (counted("%c0", "%n", "%c1", "%y = arith.addi %s, %t : i32"), (BLOCK_UNIFORM, VARYING, VARYING)),
        (counted("%c0", "%n", "%c1", "%y = arith.addi %s, %c0 : i32", "%c16"), (BLOCK_UNIFORM,) * 3),
    ],
)
def test_counted_loops(text: str, said: tuple[str, str, str]) -> None:
    assert of_loop(text) == said


def test_a_counter_is_a_multiple_of_its_step() -> None:
    function, _module = kernel(counted("%c32", "%n", "%c16"))
    analysis = UniformityAnalysis(function, Shape(32, (256, 1, 1)))
    loop = next(found for found in walk(function) if found.name == "scf.for")
    assert analysis.at(loop.regions[0].blocks[0].arguments[0]).divisor == 16


def waiting(condition: str, following: str, start: str = "%c0") -> str:
    return f"""
    %w = arith.divui %t, %c32 : i32
    %x = scf.while (%i = {start}) : (i32) -> i32 {{
      {condition}
      scf.condition(%q) %i : i32
    }} do {{
    ^bb0(%j: i32):
      {following}
      scf.yield %k : i32
    }}
    """


NEXT = "%k = arith.addi %j, %c1 : i32"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (waiting("%q = arith.cmpi slt, %i, %n : i32", NEXT), BLOCK_UNIFORM),
        (waiting("%q = arith.cmpi slt, %i, %w : i32", NEXT), WARP_UNIFORM),
        (waiting("%q = arith.cmpi slt, %i, %t : i32", NEXT), VARYING),
        (waiting("%q = arith.cmpi slt, %n, %b : i32", NEXT, "%t"), STEPS),
        (waiting("%q = arith.cmpi slt, %n, %b : i32", "%k = arith.addi %j, %t : i32"), VARYING),
    ],
)
def test_other_loops(text: str, said: str) -> None:
    function, _module = kernel(text)
    loop = next(found for found in walk(function) if found.name == "scf.while")
    analysis = UniformityAnalysis(function, Shape(32, (256, 1, 1)))
    assert str(analysis.at(loop.results[0])) == said


# what warps may see of each other -----------------------------------------------------------------------------------
def reading(before: str = "", after: str = "") -> str:
    return f"""
    scf.for %i = %c0 to %n step %c1 : i32 {{
      {before}
      %x = llvm.load %p : !llvm.ptr<1> -> i32
      {after}
    }}
    """


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (reading(), BLOCK_UNIFORM),
        (reading(after="llvm.store %x, %p : i32, !llvm.ptr<1>"), WARP_UNIFORM),
        (reading("gpu.barrier", "llvm.store %x, %p : i32, !llvm.ptr<1>"), BLOCK_UNIFORM),
    ],
)
def test_loads_in_regions_that_write(text: str, said: str) -> None:
    function, _module = kernel(text)
    load = next(found for found in walk(function) if found.name == "llvm.load")
    assert str(UniformityAnalysis(function, Shape(32, (256, 1, 1))).at(load.results[0])) == said


def test_what_a_loop_writes_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many rounds the values take that it and the loops around it carry."""
    asked: list[str] = []

    def counting(operation: Operation) -> bool:
        asked.append(operation.name)
        return writes(operation)

    monkeypatch.setattr(uniformity, "writes", counting)
    inner = "%y = scf.for %j = %c0 to %n step %c1 iter_args(%r = %s) -> (i32) : i32"
    text = counted("%c0", "%n", "%c1", f"{inner} {{ %z = arith.addi %r, %t : i32 scf.yield %z : i32 }}")
    assert of_loop(text) == (BLOCK_UNIFORM, VARYING, VARYING)
    assert asked == ["scf.for", "scf.for"]


def test_what_a_target_computes_for_each_warp() -> None:
    function, _module = kernel("%x = arith.addi %n, %c1 : i32\n%y = arith.addi %n, %c0 : i32")
    first, second = [found for found in walk(function) if found.name == "arith.addi"]
    analysis = UniformityAnalysis(function, Shape(32, (256, 1, 1)), per_warp=frozenset({first}))
    assert str(analysis.at(first.results[0])) == WARP_UNIFORM
    assert str(analysis.at(second.results[0])) == BLOCK_UNIFORM
    assert analysis.block == (256, 1, 1)
    assert [str(found) for found in analysis.all(list(first.operands))] == [BLOCK_UNIFORM, "1"]
