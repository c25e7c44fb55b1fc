"""`copies_into_lds`: which copies need no registers, and how far waits may count."""

from __future__ import annotations

from typing import Any

import pytest

import triptych as tt
from tests.passes.running import kernel, parsed
from tests.unit.targets.amdgpu.programs import THREADS, compiled, instructions
from triptych import cute
from triptych.cute import nvgpu
from triptych.ir.modules import kernels, operations_named
from triptych.kernel_ir.dialects.kernel_operations import constant_of
from triptych.targets.amdgpu.description.chips import CHIPS
from triptych.targets.amdgpu.passes.copies_into_lds import LDS_COPY, copying, counter_word, part_async_copies


def _copied(bits: int, apart: int = 1, guarded: bool = False) -> Any:
    """A kernel in which each thread copies to its own place, places `apart` times as far as they are wide."""

    def body(x: Any, y: Any, t: Any) -> None:
        values = bits // 32
        layout = cute.make_layout((values, THREADS), stride=(1, values * apart))
        shared = cute.SmemAllocator().allocate_tensor(tt.Float32, layout, byte_alignment=16)
        atom = cute.make_copy_atom(nvgpu.cpasync.CopyG2SOp(), tt.Float32, num_bits_per_copy=bits)
        parts = cute.make_tensor(x.iterator, cute.make_layout((values, THREADS)))
        if guarded:
            inside = cute.make_rmem_tensor(cute.make_layout(1), tt.Boolean)
            inside[0] = t < 200
            cute.copy(atom, parts[None, t], shared[None, t], pred=inside)
        else:
            cute.copy(atom, parts[None, t], shared[None, t])
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        y[t] = shared[0, t ^ 5]

    return body


def found(chip: str, *how: Any) -> list[str]:
    return instructions(compiled(_copied(*how), chip, tt.Float32, shared=THREADS * 64).asm)


def into_lds(lines: list[str]) -> int:
    return sum("_lds_" in line or line.endswith(" lds") for line in lines)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("bits", [32, 64, 128])
def test_what_each_chip_copies_by_itself(bits: int, chip: str) -> None:
    direct = {"gfx90a": (32,), "gfx942": (32,), "gfx950": (32, 128)}.get(chip, ())
    lines = found(chip, bits)
    stores = [line for line in lines if line.startswith(("ds_write", "ds_store"))]
    assert (into_lds(lines), len(stores)) == ((1, 0) if bits in direct else (0, 1))
    if bits == 128 and not into_lds(lines):
        assert stores[0].startswith(("ds_write_b128", "ds_store_b128"))


def test_lanes_that_are_apart_go_through_registers() -> None:
    assert into_lds(found("gfx950", 128, 2)) == 0
    assert into_lds(found("gfx950", 128, 1)) == 1


def test_a_guarded_copy_writes_zeros_where_it_does_not_copy() -> None:
    lines = found("gfx950", 128, 1, True)
    assert into_lds(lines) == 1
    assert any(line.startswith("s_waitcnt vmcnt(0)") for line in lines)


GROUP = '"simt.async_copy"(%s, %g) {size = 4 : i32, cache = "all"} : (!llvm.ptr<3>, !llvm.ptr<1>) -> ()'
COMMIT, WAIT = '"simt.async_commit"() : () -> ()', '"simt.async_wait"() {groups = 1 : i32} : () -> ()'
PLACE = """
%t = gpu.thread_id x
%i = arith.index_castui %t : index to i32
%s = llvm.getelementptr %b[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
%zero = arith.constant 0 : index
%one = arith.constant 1 : index
%four = arith.constant 4 : index
"""
COUNTED = {
    "a copy in each": ((GROUP, COMMIT, GROUP, COMMIT), 1),
    "two and one": ((GROUP, GROUP, COMMIT, GROUP, COMMIT), 1),
    "three in each": ((GROUP, GROUP, GROUP, COMMIT), 3),
    "an empty group": ((GROUP, COMMIT, COMMIT), 0),
    "a branch that may not be taken": (("scf.if %c {", GROUP, "}", COMMIT), 0),
    "a branch both ways": (("scf.if %c {", GROUP, "} else {", GROUP, GROUP, "}", COMMIT), 1),
    "a loop of four turns": (("scf.for %k = %zero to %four step %one {", GROUP, "}", COMMIT), 4),
    "a loop of unknown turns": (("scf.for %k = %zero to %n step %one {", GROUP, "}", COMMIT), 0),
    "a group in each turn": ((GROUP, COMMIT, "scf.for %k = %zero to %n step %one {", GROUP, GROUP, COMMIT, "}"), 1),
    "a commit before the copies of a turn": ((GROUP, "scf.for %k = %zero to %n step %one {", COMMIT, GROUP, "}"), 0),
}


@pytest.mark.parametrize("name", COUNTED)
def test_a_wait_leaves_no_more_than_every_group_has(name: str) -> None:
    lines, least = COUNTED[name]
    arguments = "%b: !llvm.ptr<3>, %g: !llvm.ptr<1>, %c: i1, %n: index"
    known = "attributes {known_block_size = array<i32: 64, 1, 1>}"
    device = "gpu.module @kernels attributes {triptych.device = {lanes = 64 : i64, threads = 1024 : i64}}"
    text = kernel("\n".join((PLACE, *lines, WAIT)), arguments, known).replace("gpu.module @kernels", device)
    module = parsed(text)
    with module.context:
        copying(CHIPS["gfx942"])(module)
    (function,) = kernels(module)
    assert operations_named(function, LDS_COPY)
    waits = [
        constant_of(call.operands[0])
        for call in operations_named(function, "llvm.call_intrinsic")
        if call.attributes["intrin"].value == "llvm.amdgcn.s.waitcnt"
    ]
    assert waits == [counter_word(least)]


def test_words_of_counters() -> None:
    """As the manual of gfx9 has them: four bits of the count, two more at the end; the others wait for nothing."""
    assert [counter_word(n) for n in (0, 1, 15, 16, 63)] == [0x0F70, 0x0F71, 0x0F7F, 0x4F70, 0xCF7F]


def test_reads_are_told_apart_from_copies() -> None:
    program = """
    module { gpu.module @kernels { llvm.func @k(%g: !llvm.ptr<1>, %l: !llvm.ptr<3>) attributes {gpu.kernel} {
      rocdl.global.load.lds %g, %l, 4, 0, 0
      %v = llvm.load %l : !llvm.ptr<3> -> f32
      %w = llvm.load %g : !llvm.ptr<1> -> f32
      llvm.store %v, %g : f32, !llvm.ptr<1>
      llvm.return } } }
    """
    module = parsed(program)
    with module.context:
        part_async_copies(module)
    (copy,) = operations_named(module, LDS_COPY)
    shared, other = operations_named(module, "llvm.load")
    assert str(copy.attributes["alias_scopes"]) == str(shared.attributes["noalias_scopes"])
    assert "noalias_scopes" not in other.attributes
