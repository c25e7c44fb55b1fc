"""`waits`: a read of LDS that a copy may not have reached is found, whichever wait is missing, and no other is."""

from __future__ import annotations

import re
from typing import Any

import pytest
from benchmarks.amd_programs import PLAIN
from benchmarks.amd_programs import compiled as example

import triptych as tt
from triptych import cute
from triptych.cute import nvgpu
from triptych.cute.runtime import make_fake_tensor
from triptych.ir.errors import CodegenError
from triptych.support.dataclass import dataclass
from triptych.targets.amdgpu import code_generation
from triptych.targets.amdgpu.analysis.waits import unproven_reads
from triptych.targets.amdgpu.passes.copies_into_lds import COMMIT_MASK, MOST_GROUPS, groups_left, wait_mask

THREADS = 256


@dataclass(frozen=True, slots=True)
class Staged:
    """A kernel that adds up tiles, some of which are on their way while others are read."""

    chip: str
    bits: int
    """Of one copy."""
    stages: int
    copies: int = 1
    """In a group."""

    @property
    def left(self) -> int:
        """Accesses that may be under way when the oldest stage is read."""
        return (self.stages - 2) * self.copies


STAGED = [
    Staged("gfx950", 128, 2),
    Staged("gfx950", 128, 3),
    Staged("gfx950", 128, 4, 2),
    Staged("gfx950", 128, 3, 4),
    Staged("gfx950", 32, 3),
    Staged("gfx942", 32, 2),
    Staged("gfx942", 32, 3),
    Staged("gfx942", 32, 5, 2),
    Staged("gfx90a", 32, 3),
    Staged("gfx90a", 32, 4, 3),
]


@tt.kernel
def staged(x: cute.Tensor, y: cute.Tensor, tiles: tt.Int32, how: tt.Constexpr[Any]) -> None:
    thread, values = cute.arch.thread_idx()[0], how.bits // 32
    shape = (values, THREADS, how.copies, how.stages)
    shared = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(shape), byte_alignment=16)
    atom = cute.make_copy_atom(nvgpu.cpasync.CopyG2SOp(), tt.Float32, num_bits_per_copy=how.bits)
    parts = cute.make_tensor(x.iterator, cute.make_layout((values, THREADS, how.copies, 64)))
    for stage in tt.range_constexpr(how.stages - 1):
        for i in tt.range_constexpr(how.copies):
            cute.copy(atom, parts[None, thread, i, stage], shared[None, thread, i, stage])
        cute.arch.cp_async_commit_group()
    total = tt.Float32(0.0)
    for tile in range(tiles):
        cute.arch.cp_async_wait_group(how.stages - 2)
        cute.arch.sync_threads()
        ahead = tile + how.stages - 1
        for i in tt.range_constexpr(how.copies):
            cute.copy(atom, parts[None, thread, i, ahead], shared[None, thread, i, ahead % how.stages])
        cute.arch.cp_async_commit_group()
        for i in tt.range_constexpr(how.copies):
            for v in tt.range_constexpr(values):
                total = total + shared[v, thread ^ 37, i, tile % how.stages]
    y[thread] = total


@tt.jit
def run(x: cute.Tensor, y: cute.Tensor, tiles: tt.Int32, how: tt.Constexpr[Any]) -> None:
    staged(x, y, tiles, how).launch(grid=1, block=THREADS)


def assembly_of(how: Staged) -> str:
    tensors = [make_fake_tensor(tt.Float32, (1 << 18,), (1,), assumed_align=16) for _ in range(2)]
    return tt.compile(run, *tensors, 5, how, target=f"amdgpu:{how.chip}").asm


WAIT = re.compile(r"vmcnt\((\d+)\)")
NO_WAIT = "expcnt(7)"
"""What `s_waitcnt` says when it waits for no access to memory."""


@pytest.mark.parametrize("how", STAGED, ids=str)
def test_copies_go_into_lds_by_themselves_and_waits_leave_the_later_ones(how: Staged) -> None:
    assembly = assembly_of(how)
    copies = re.findall(r"global_load_(?:lds_)?dword(x4)?[^\n]*", assembly)
    assert len(copies) == how.stages * how.copies
    assert {wide == "x4" for wide in copies} == {how.bits == 128}
    assert [int(count) for count in WAIT.findall(assembly)] == [how.left]
    assert "\tds_write" not in assembly, "no copy goes through registers"
    assert not unproven_reads(assembly)


@pytest.mark.parametrize("how", STAGED, ids=str)
def test_a_wait_that_is_missing_is_found(how: Staged) -> None:
    without = WAIT.sub(NO_WAIT, assembly_of(how))
    found = unproven_reads(without)
    assert {read.instruction.split("_")[0] for read in found} == {"s", "ds"}
    assert all(read.kernel == "staged" and read.group > read.left for read in found)
    assert all(without.splitlines()[read.line - 1].strip().startswith(read.instruction[:6]) for read in found)


@pytest.mark.parametrize("how", STAGED, ids=str)
def test_a_count_that_is_one_too_large_is_found(how: Staged) -> None:
    assembly = assembly_of(how)
    assert unproven_reads(WAIT.sub(f"vmcnt({how.left + 1})", assembly))
    if how.left:
        assert not unproven_reads(WAIT.sub(f"vmcnt({how.left - 1})", assembly))


@pytest.mark.parametrize("name", PLAIN)
def test_no_example_is_accused(name: str) -> None:
    assert not unproven_reads(example(name, "amdgpu:gfx950").asm)


def test_code_with_a_wait_that_is_missing_is_not_given_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CodegenError, match="not proven to be behind its wait"):
        code_generation._prove_waits(WAIT.sub(NO_WAIT, assembly_of(STAGED[1])))


# Small programs in assembly -------------------------------------------------------------------------------------------
COPY, READ = "global_load_lds_dword v0, s[0:1]", "ds_read_b32 v1, v2"
COMMIT = f"; sched_barrier mask(0x{COMMIT_MASK:08X})"


def leave(groups: int) -> str:
    return f"; sched_barrier mask(0x{wait_mask(groups):08X})"


def program(*lines: str) -> str:
    return "k:\n" + "\n".join(line if line.startswith(".") else f"\t{line}" for line in lines) + "\n.Lfunc_end0:\n"


def test_masks_say_how_many_groups_are_left() -> None:
    assert [groups_left(wait_mask(n)) for n in range(MOST_GROUPS + 1)] == list(range(MOST_GROUPS + 1))
    assert groups_left(COMMIT_MASK) is None


@pytest.mark.parametrize(
    ("lines", "lines_found"),
    [
        ((COPY, COMMIT, READ), []),
        ((COPY, COMMIT, leave(0), READ), [5]),
        ((COPY, COMMIT, "s_waitcnt vmcnt(0)", leave(0), READ), []),
        ((COPY, COMMIT, "s_waitcnt lgkmcnt(0)", leave(0), READ), [6]),
        ((COPY, COMMIT, leave(1), READ, COPY, COMMIT, leave(1), READ), [9]),
        ((COPY, COMMIT, COPY, COMMIT, "s_waitcnt vmcnt(1)", leave(1), READ), []),
        ((COPY, COMMIT, COPY, COPY, COMMIT, "s_waitcnt vmcnt(2)", leave(1), READ), []),
        ((COPY, COMMIT, "global_store_dword v0, v1, s[0:1]", "s_waitcnt vmcnt(1)", leave(0), READ), []),
        ((COPY, COMMIT, "s_waitcnt vmcnt(1)", leave(0), "s_barrier"), [6]),
        ((COPY, COMMIT, leave(0), "s_waitcnt vmcnt(0)", READ), []),
    ],
)
def test_straight_lines(lines: tuple[str, ...], lines_found: list[int]) -> None:
    assert [read.line for read in unproven_reads(program(*lines, "s_endpgm"))] == lines_found


def test_a_wait_on_one_of_two_ways() -> None:
    lines = (COPY, COMMIT, "s_cbranch_scc1 .LBB0_2", "s_waitcnt vmcnt(0)", ".LBB0_2:", leave(0), READ, "s_endpgm")
    assert [read.line for read in unproven_reads(program(*lines))] == [8]
    behind = (COPY, COMMIT, "s_cbranch_scc1 .LBB0_2", "s_nop 0", ".LBB0_2:", "s_waitcnt vmcnt(0)", leave(0), READ)
    assert not unproven_reads(program(*behind, "s_endpgm"))


def test_a_copy_that_one_way_leaves_out_counts_for_none() -> None:
    """Two groups are under way, but the second may be empty: to leave one access is too many."""
    begin = (COPY, COMMIT, "s_cbranch_scc1 .LBB0_2", COPY, ".LBB0_2:", COMMIT)
    assert [read.line for read in unproven_reads(program(*begin, "s_waitcnt vmcnt(1)", leave(1), READ))] == [10]


def test_a_loop_that_ends_where_it_began() -> None:
    turn = (".LBB0_1:", COPY, COMMIT, "s_waitcnt vmcnt(1)", leave(1), READ, "s_cbranch_scc1 .LBB0_1", "s_endpgm")
    assert not unproven_reads(program(COPY, COMMIT, *turn))
    late = [line.replace("vmcnt(1)", "vmcnt(2)") for line in turn]
    assert unproven_reads(program(COPY, COMMIT, *late))
