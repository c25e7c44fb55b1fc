"""Products of warpgroups as machine code: loops without moves, one wait for each turn, nothing that serialises them."""

from __future__ import annotations

import re
import warnings

import pytest

from tests.unit.targets.nvptx.asynchronous import compiled
from tests.unit.targets.nvptx.tools import needs_assembler, needs_disassembler
from triptych.stages import Compiled
from triptych.support.errors import PerformanceWarning
from triptych.targets.nvptx.passes import launch_bounds

pytestmark = needs_assembler
COLUMNS = 64
SUMS = COLUMNS // 2
PLACES = ", ".join(map(str, range(SUMS)))
OPERAND = "array<i64: 0, 3, 16, 1024>"
DISTANCES = "array<i64: 0, 32, 64, 96>"


def product(a: str = "%a", flag: str = "%flag", offsets: str = DISTANCES) -> str:
    shared = a == "%a"
    return (
        f'"tile.wgmma"(%acc, {a}, %a, {flag}) {{instruction = "m64n{COLUMNS}k16.f32.f16.f16", '
        f"tiles = array<i64: 1, 1, 4>, d = array<i64: {PLACES}>, a = {offsets}, b = {DISTANCES}, "
        f"a_operand = {OPERAND if shared else 'array<i64>'}, b_operand = {OPERAND}}} "
        f": (!llvm.ptr, {'!llvm.ptr<3>' if shared else '!llvm.ptr'}, !llvm.ptr<3>, i1) -> ()"
    )


def stored() -> str:
    """The sums of each thread in global memory."""
    lines = []
    for i in range(SUMS):
        lines += [
            f"%from{i} = llvm.getelementptr %acc[{i}] : (!llvm.ptr) -> !llvm.ptr, f32",
            f"%sum{i} = llvm.load %from{i} : !llvm.ptr -> f32",
            f"%to{i} = llvm.getelementptr %p[{i}] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32",
            f"llvm.store %sum{i}, %to{i} : f32, !llvm.ptr<1>",
        ]
    return "\n".join(lines)


def loop(body: str, groups: int) -> str:
    return f"""
    %count = llvm.mlir.constant({SUMS} : i32) : i32
    %acc = llvm.alloca %count x f32 : (i32) -> !llvm.ptr
    %sixteen = llvm.mlir.constant(16 : i32) : i32
    %factor = llvm.alloca %sixteen x i32 : (i32) -> !llvm.ptr
    %zero = arith.constant 0 : i32
    scf.for %i = %zero to %n step %one : i32 {{
      "simt.mbarrier_wait"(%s, %i) : (!llvm.ptr<3>, i32) -> ()
      %a = llvm.getelementptr %s[1024] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
      %flag = arith.cmpi ne, %i, %zero : i32
      {body}
      "tile.wgmma_commit"() : () -> ()
      "tile.wgmma_wait"() {{groups = {groups} : i64}} : () -> ()
    }}
    "tile.wgmma_wait"() {{groups = 0 : i64}} : () -> ()
    {stored()}
    """


def fill() -> str:
    """A in registers, computed anew in each turn."""
    lines = []
    for i in range(16):
        lines += [
            f"%old{i} = llvm.getelementptr %factor[{i}] : (!llvm.ptr) -> !llvm.ptr, i32",
            f"%lane{i} = gpu.lane_id",
            f"%number{i} = arith.index_cast %lane{i} : index to i32",
            f"%new{i} = arith.muli %number{i}, %i : i32",
            f"%c{i} = arith.constant {i} : i32",
            f"%value{i} = arith.addi %new{i}, %c{i} : i32",
            f"llvm.store %value{i}, %old{i} : i32, !llvm.ptr",
        ]
    return "\n".join(lines)


FENCE = '"tile.wgmma_fence"() : () -> ()'
IN_REGISTERS = product("%factor", offsets=f"array<i64: {', '.join(map(str, range(16)))}>")
BODIES = {"shared": f"{FENCE}\n{product()}", "registers": f"{fill()}\n{FENCE}\n{IN_REGISTERS}"}


def turn(program: Compiled) -> list[str]:
    """The instructions from the first product to the last wait, without operands."""
    code = re.sub(r"/\*.*?\*/", "", program.views["sass"]())
    names = [line.split()[0] for line in code.splitlines() if line.strip().endswith(";") and line.strip()[0] != "@"]
    first = next(i for i, name in enumerate(names) if "GMMA" in name)
    last = max(i for i, name in enumerate(names) if "DEPBAR" in name)
    return names[first : last + 1]


@needs_disassembler
@pytest.mark.parametrize("groups", [0, 1])
@pytest.mark.parametrize("body", BODIES)
def test_a_loop_of_products(body: str, groups: int) -> None:
    """A remark of the assembler would be an error here."""
    program = compiled(loop(BODIES[body], groups))
    (used,) = program.views["resources"]().values()
    assert (used.spill_stores, used.stack, used.remarks) == (0, 0, ())
    assert used.registers <= 2 * SUMS + 32
    code = program.views["sass"]()
    assert code.count("HGMMA") == 4
    assert code.count("WARPGROUP.ARRIVE") == 1
    assert code.count("WARPGROUP.DEPBAR") == 2
    assert not [name for name in turn(program) if name in ("MOV", "IMAD.MOV.U32", "FADD") and body == "shared"]


def test_every_instruction_of_a_warpgroup_is_convergent() -> None:
    """A branch that LLVM knows the way of behind the product would otherwise be written twice, with the product."""
    body = f"""
    {BODIES["shared"]}
    scf.if %flag {{ llvm.store %i, %p : i32, !llvm.ptr<1> }}
    """
    program = compiled(loop(body, 0))
    calls = [line for line in program.lowered.llvm.splitlines() if ".aligned" in line and " asm " in line]
    assert len(calls) == 5
    assert all(") convergent" in line for line in calls)
    assert program.views["ptx"]().count("wgmma.mma_async") == 4


def test_llvm_reads_few_bytes_for_a_product() -> None:
    """The fields of a struct of all sums, on every line that takes one out, were two fifths of the text."""
    text = compiled(loop(BODIES["shared"], 0)).lowered.llvm
    assert len(text) < 30_000
    assert text.count("{ float, float, ") == 1


def test_products_of_a_k_tile_are_one_piece_of_ptx() -> None:
    """Also where the program keeps in memory whether sums begin anew."""
    fields = """
    %size = llvm.mlir.constant(1 : i32) : i32
    %kept = llvm.alloca %size x i1 : (i32) -> !llvm.ptr
    llvm.store %flag, %kept : i1, !llvm.ptr
    %first = llvm.load %kept : !llvm.ptr -> i1
    """
    more = """
    %true = arith.constant true
    llvm.store %true, %kept : i1, !llvm.ptr
    %second = llvm.load %kept : !llvm.ptr -> i1
    """
    program = compiled(loop("\n".join([fields, FENCE, product(flag="%first"), more, product(flag="%second")]), 0))
    products = [line for line in program.lowered.llvm.splitlines() if "wgmma.mma_async" in line]
    assert len(products) == 1
    assert program.views["ptx"]().count("wgmma.mma_async") == 8


def test_remarks_of_the_assembler_are_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch_bounds, "SET_REGISTERS", "nobody.has.this")
    with pytest.warns(PerformanceWarning, match="C7508 'setmaxnreg' ignored"):
        compiled('"simt.set_registers"() {kind = "increase", count = 240 : i64} : () -> ()')


def test_registers_are_moved_between_warps() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program = compiled('"simt.set_registers"() {kind = "increase", count = 232 : i64} : () -> ()')
    assert ".minnctapersm 1" in program.views["ptx"]()
