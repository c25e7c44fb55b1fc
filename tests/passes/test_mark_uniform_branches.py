"""`mark-uniform-branches`: conditions that are one for a warp are marked, and become `bra.uni`; all others stay."""

from __future__ import annotations

import pytest

from tests.passes.running import checked, kernel
from triptych.targets.nvptx.passes.uniform_branches import TOGETHER, make_uniform, mark_uniform_branches

ARGUMENTS = "%n: i32, %p: !llvm.ptr<1>, %flag: i1"
LINE = "attributes {known_block_size = array<i32: 128, 1, 1>}"
MARK = "mov.pred $0, $1; // the same for the warp"
VOTE = '%v = "simt.vote"(%n, %flag) {kind = "any"} : (i32, i1) -> i1'
PROLOGUE = """
%tx = gpu.thread_id x
%ty = gpu.thread_id y
%lane = gpu.lane_id
%bx = gpu.block_id x
%dim = gpu.block_dim x
%grid = gpu.grid_dim x
%c0 = arith.constant 0 : index
%c16 = arith.constant 16 : index
%c31 = arith.constant 31 : index
%c32 = arith.constant 32 : index
%c64 = arith.constant 64 : index
%c4 = arith.constant 4 : index
%c5 = arith.constant 5 : index
%c6 = arith.constant 6 : index
"""


def branch(condition: str, together: str = VOTE) -> str:
    return f"{PROLOGUE}\n{condition}\nscf.if %c {{ {together} }}"


def of(number: str) -> str:
    """A condition on `%x`."""
    return f"{number}\n%c = arith.cmpi eq, %x, %c0 : index"


def is_marked(program: str, attributes: str = LINE) -> None:
    expected = f"""
    # CHECK: llvm.inline_asm "{MARK}", "=b,b" %
    # CHECK-NEXT: scf.if
    """
    checked(kernel(program, ARGUMENTS, attributes), mark_uniform_branches, expected)


def is_left(program: str, attributes: str = LINE) -> None:
    checked(kernel(program, ARGUMENTS, attributes), mark_uniform_branches, "# CHECK: scf.if\n# CHECK-NOT: inline_asm")
    checked(kernel(program, ARGUMENTS, attributes), mark_uniform_branches, "# CHECK-NOT: inline_asm\n# CHECK: scf.if")


@pytest.mark.parametrize(
    "number",
    [
        "%x = arith.divui %tx, %c32 : index",
        "%x = arith.divui %tx, %c64 : index",
        "%x = arith.shrui %tx, %c5 : index",
        "%x = arith.shrui %tx, %c6 : index",
        "%x = arith.addi %bx, %dim : index",
        "%x = arith.muli %grid, %c16 : index",
        "%w = arith.divui %tx, %c32 : index %x = arith.addi %w, %w : index",
        "%t = arith.index_cast %tx : index to i32 %o = arith.constant 32 : i32 %w = arith.divui %t, %o : i32"
        " %x = arith.index_castui %w : i32 to index",
        "%x = arith.divui %ty, %c32 : index",
        "%x = arith.divui %lane, %c32 : index",
        "%m = arith.addi %tx, %c0 : index %x = arith.divui %m, %c32 : index",
        "%t = arith.index_castui %tx : index to i32 %e = arith.extui %t : i32 to i64 %o = arith.constant 5 : i64"
        " %w = arith.shrui %e, %o : i64 %x = arith.index_cast %w : i64 to index",
    ],
)
def test_numbers_of_warps_and_blocks(number: str) -> None:
    is_marked(branch(of(number)))


def test_arguments_of_the_kernel() -> None:
    is_marked(branch("%c = arith.cmpi eq, %n, %n : i32"))


@pytest.mark.parametrize(
    "number",
    [
        "%x = arith.divui %tx, %c16 : index",
        "%x = arith.divui %tx, %c31 : index",
        "%x = arith.shrui %tx, %c4 : index",
        "%x = arith.divui %tx, %dim : index",
        "%x = arith.remui %tx, %c32 : index",
        "%x = arith.addi %tx, %c0 : index",
        "%x = arith.addi %lane, %c0 : index",
        "%l = llvm.load %p : !llvm.ptr<1> -> i32 %x = arith.index_cast %l : i32 to index",
        "%w = arith.divui %tx, %c32 : index %x = arith.addi %w, %tx : index",
    ],
)
def test_numbers_of_threads(number: str) -> None:
    is_left(branch(of(number)))


@pytest.mark.parametrize(
    ("block", "marked"),
    [
        ("64, 4, 1", True),
        ("32, 2, 2", True),
        ("48, 1, 1", True),
        ("48, 2, 1", False),
        ("48, 1, 2", False),
        ("16, 2, 1", True),  # no x reaches 32
        ("33, 2, 1", False),
        ("31, 2, 2", False),
    ],
)
def test_a_warp_must_be_in_a_line(block: str, marked: bool) -> None:
    attributes = f"attributes {{known_block_size = array<i32: {block}>}}"
    program = branch(of("%x = arith.divui %tx, %c32 : index"))
    (is_marked if marked else is_left)(program, attributes)


def test_a_block_of_unknown_size() -> None:
    is_left(branch(of("%x = arith.divui %tx, %c32 : index")), "")
    is_marked(branch(of("%x = arith.addi %bx, %c0 : index")), "")


def test_arguments_themselves() -> None:
    is_left(f"scf.if %flag {{ {VOTE} }}")


@pytest.mark.parametrize("stop", ["%c16", "%tx"])
def test_counters_of_loops(stop: str) -> None:
    """A lane that leaves a loop early meets the others in another turn."""
    loop = f"scf.for %i = %c0 to {stop} step %c4 {{ %c = arith.cmpi eq, %i, %c0 : index scf.if %c {{ {VOTE} }} }}"
    (is_marked if stop == "%c16" else is_left)(f"{PROLOGUE}\n{loop}")


@pytest.mark.parametrize("members", ["%n", "%mine"])
def test_votes(members: str) -> None:
    vote = f'%c = "simt.vote"({members}, %flag) {{kind = "any"}} : (i32, i1) -> i1'
    program = branch(f"%mine = arith.index_cast %tx : index to i32\n{vote}")
    (is_marked if members == "%n" else is_left)(program)


def test_arrays_of_threads_and_what_is_in_them() -> None:
    """All lanes have the same address, and each its own memory there."""
    is_left(
        branch(
            """
            %one = llvm.mlir.constant(1 : i32) : i32
            %array = llvm.alloca %one x i32 : (i32) -> !llvm.ptr
            %l = llvm.load %array : !llvm.ptr -> i32
            %c = arith.cmpi eq, %l, %n : i32
            """
        )
    )


def test_operations_that_nobody_has_described() -> None:
    is_left(branch(of("%x = arith.addi %bx, %c0 : index"), f"{VOTE} %s = gpu.subgroup_id : index"))


@pytest.mark.parametrize(
    "together",
    [
        '%s = "simt.shuffle"(%n, %n, %n, %n) {kind = "bfly"} : (i32, i32, i32, i32) -> i32',
        '%s = "simt.reduce"(%n, %n) {kind = "add"} : (i32, i32) -> i32',
        '%s = "simt.match"(%n, %n) : (i32, i32) -> i32',
        '"simt.sync_warp"(%n) : (i32) -> ()',
        VOTE,
    ],
)
def test_instructions_of_warps(together: str) -> None:
    assert {"simt.shuffle", "simt.vote", "simt.reduce", "simt.match", "simt.sync_warp"} == TOGETHER
    is_marked(branch(of("%x = arith.addi %bx, %c0 : index"), together))


def test_branches_around_anything_else() -> None:
    is_left(branch(of("%x = arith.addi %bx, %c0 : index"), "llvm.store %n, %p : i32, !llvm.ptr<1>"))
    outside = branch(of("%x = arith.addi %bx, %c0 : index"), "gpu.barrier") + f"\n{VOTE}"
    is_left(outside)


def test_every_branch_around() -> None:
    inner = f"scf.for %i = %c0 to %c16 step %c4 {{ scf.if %d {{ {VOTE} }} }}"
    program = branch(of("%x = arith.addi %bx, %c0 : index") + "\n%d = arith.cmpi ne, %bx, %c0 : index", inner)
    checked(kernel(program, ARGUMENTS, LINE), mark_uniform_branches, f'# CHECK-COUNT-2: llvm.inline_asm "{MARK}"')


# PTX ----------------------------------------------------------------------------------------------------------------
def function(body: str) -> str:
    return f".entry k\n{{\n{body}\n}}\n"


MOVE = "\tmov.pred \t%p2, %p1; // the same for the warp\n"


@pytest.mark.parametrize("guard", ["@%p2", "@!%p2"])
def test_branches_on_marked_predicates(guard: str) -> None:
    ptx = function(f"{MOVE}\t{guard} bra \t$L1;\n\t@%p1 bra \t$L2;\n\t@%p21 bra \t$L3;")
    assert make_uniform(ptx) == ptx.replace(f"{guard} bra \t$L1", f"{guard} bra.uni \t$L1")


def test_negations() -> None:
    ptx = function(f"{MOVE}\tnot.pred \t%p3, %p2;\n\tnot.pred \t%p4, %p1;\n\t@%p3 bra \t$L1;\n\t@%p4 bra \t$L2;")
    assert make_uniform(ptx) == ptx.replace("@%p3 bra", "@%p3 bra.uni")


@pytest.mark.parametrize(
    "other",
    [
        "\tsetp.eq.s32 \t%p2, %r1, 0;",
        "\t@%p7 mov.pred \t%p2, %p5;",
        "\tsetp.eq.s32 \t%p9|%p2, %r1, 0;",
        "\tsetp.eq.s32 \t%p2|%p9, %r1, 0;",
    ],
)
def test_a_predicate_that_gets_other_values(other: str) -> None:
    ptx = function(f"{MOVE}{other}\n\t@%p2 bra \t$L1;")
    assert make_uniform(ptx) == ptx


def test_a_negation_that_gets_other_values() -> None:
    ptx = function(f"{MOVE}\tnot.pred \t%p3, %p2;\n\tsetp.eq.s32 \t%p3, %r1, 0;\n\t@%p3 bra \t$L1;")
    assert make_uniform(ptx) == ptx


def test_names_belong_to_a_function() -> None:
    other = function("\t@%p2 bra \t$L1;")
    assert make_uniform(function(f"{MOVE}\t@%p2 bra \t$L1;") + other).endswith(other)
    assert make_uniform(other) == other
