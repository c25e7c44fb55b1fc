"""What kernels do not need is not in their code, and what their launches promise is: signs, calls, directives."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from benchmarks.sass_programs import elementwise
from benchmarks.sass_programs.arguments import PORTS

import triptych as tt
from tests.unit.targets.nvptx.programs import matrix, vector
from tests.unit.targets.nvptx.tools import needs_assembler, needs_disassembler
from triptych import cute
from triptych.cute.runtime import make_fake_tensor
from triptych.support.config import override
from triptych.targets.nvptx.passes.uniform_branches import make_uniform
from triptych.targets.nvptx.report.machine_code import instruction_counts

pytestmark = needs_assembler


@tt.kernel
def copy_rows(a: cute.Tensor, b: cute.Tensor) -> None:
    """The layout divides the number of the thread by the rows, which are never negative."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    b[block] = a[block] + thread


@tt.kernel
def three_divisions(a: cute.Tensor, n: tt.Int32, m: tt.Int32) -> None:
    a[0] = 100 // n
    a[1] = 100 // m
    a[2] = 100 % (n + m)


@tt.jit
def rows(a: cute.Tensor, b: cute.Tensor) -> None:
    copy_rows(a, b).launch(grid=70, block=32)


@tt.jit
def divisions(a: cute.Tensor, n: tt.Int32, m: tt.Int32) -> None:
    three_divisions(a, n, m).launch(grid=1, block=32)


@tt.kernel
def nothing() -> None:
    pass


@tt.jit
def in_clusters() -> None:
    nothing().launch(grid=8, block=32, cluster=(4, 2, 1))


def ptx_of(function: Any, *arguments: Any, architecture: str = "sm_80", options: str = "") -> str:
    text: str = tt.compile(function, *arguments, target=f"nvptx:{architecture}", options=options).__ptx__
    return text


def test_layouts_multiply_instead_of_dividing() -> None:
    ptx = ptx_of(rows, matrix(), matrix())
    assert not re.findall(r"\b(?:div|rem)\.(\w+)", ptx)
    assert "mul.hi.u32" in ptx
    assert "__assertfail" not in ptx


def test_failing_checks_share_one_call() -> None:
    """The first check is made by the host: it comes before any effect. Of the others, each brings message and line."""
    ptx = ptx_of(divisions, vector(tt.Int32), 1, 2)
    assert ptx.count("call.uni __assertfail") == 1
    assert len(re.findall(r"^\.global .* assert_message_\d+\[", ptx, re.MULTILINE)) == 2
    assert len(re.findall(r"mov\.b32 .*assert_message_\d_address", ptx)) == 2
    assert len(re.findall(r"ld\.const\.b64 .*assert_file_\d_address", ptx)) == 1


# branches of whole warps ------------------------------------------------------------------------------------------
@tt.kernel
def add_warps(a: cute.Tensor, rows: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    if thread // 32 == rows:
        a[thread] = cute.arch.warp_reduction_sum(a[thread])


@tt.kernel
def add_lanes(a: cute.Tensor, rows: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    if thread // 16 == rows:
        a[thread] = cute.arch.warp_reduction_sum(a[thread])


@tt.jit
def warps_added(a: cute.Tensor, rows: tt.Int32) -> None:
    add_warps(a, rows).launch(grid=1, block=128)


@tt.jit
def planes_added(a: cute.Tensor, rows: tt.Int32) -> None:
    add_warps(a, rows).launch(grid=1, block=(48, 2, 1))


@tt.jit
def lanes_added(a: cute.Tensor, rows: tt.Int32) -> None:
    add_lanes(a, rows).launch(grid=1, block=128)


def test_warps_branch_together() -> None:
    """`thread // 32` is the same for a warp if the threads of a block are in lines of whole warps."""
    assert re.search(r"@!?%p\d+ bra\.uni", ptx_of(warps_added, vector(), 0))
    for other in (planes_added, lanes_added):
        assert not re.search(r"@!?%p\d+ bra\.uni", ptx_of(other, vector(), 0))


def test_a_predicate_that_is_set_again_is_no_promise() -> None:
    once = "{\n\tmov.pred %p1, %p2; // the same for the warp\n\tnot.pred \t%p3, %p1;\n\t@%p3 bra \t$L1;\n}\n"
    assert "@%p3 bra.uni \t$L1" in make_uniform(once)
    assert make_uniform(once.replace("\n}", "\n\tsetp.eq.b32 \t%p1, %r1, 0;\n}")).count(".uni") == 0
    assert make_uniform(once.replace("\n}", "\n\tsetp.eq.b32 \t%p3, %r1, 0;\n}")).count(".uni") == 0
    other = "{\n\tsetp.eq.b32 \t%p3, %r1, 0;\n\t@%p3 bra \t$L1;\n}\n"
    assert make_uniform(once + other).endswith(other)


def test_a_cluster_is_a_directive() -> None:
    assert ".reqnctapercluster 4, 2, 1" in ptx_of(in_clusters, architecture="sm_90a")


def test_kept_files(tmp_path: Path) -> None:
    with override(keep=str(tmp_path)):
        compiled = tt.compile(in_clusters, target="nvptx:sm_90", options="--keep-ptx --keep-cubin")
    assert (tmp_path / "in_clusters.sm_90.ptx").read_text() == compiled.__ptx__
    assert (tmp_path / "in_clusters.sm_90.cubin").read_bytes() == compiled.__cubin__


AT_MOST = {"port: vector add": 51, "port: relu": 45, "port: add by layout": 275, "port: rms norm": 270}
"""Instructions for sm_80 by any assembler of CUDA 13; what benchmarks/sass.py measures, with a little room."""


@needs_disassembler
def test_fixed_extents_leave_nothing_to_divide() -> None:
    tensors = [make_fake_tensor(tt.Float32, (512, 512), (512, 1), assumed_align=16) for _ in range(3)]
    compiled = tt.compile(elementwise.vector_add, *tensors, target="nvptx:sm_80")
    assert sum(counts.total() for counts in instruction_counts(compiled.__sass__).values()) <= 25


@needs_disassembler
@pytest.mark.parametrize("name", PORTS)
def test_ports_stay_small(name: str) -> None:
    function, arguments = PORTS[name]()
    compiled = tt.compile(function, *arguments, target="nvptx:sm_80")
    assert not any(used.spill_stores for used in compiled.resources.values())
    assert sum(counts.total() for counts in instruction_counts(compiled.__sass__).values()) <= AT_MOST[name]


# shared memory ----------------------------------------------------------------------------------------------------
@tt.kernel
def store_pairs(a: cute.Tensor) -> None:
    """Each thread has two elements side by side, as it has of an accumulator; a swizzle leaves eight together."""
    thread, _, _ = cute.arch.thread_idx()
    swizzled = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, cute.make_layout((32, 64), stride=(64, 1)))
    shared = cute.arch.alloc_smem(tt.Float16, 32 * 64, 1024)
    mine = cute.local_tile(cute.make_tensor(shared, swizzled), (1, 2), (thread // 4 % 32, thread % 4))
    registers = cute.make_rmem_tensor(mine.shape, tt.Float16)
    registers.fill(a[thread])
    cute.autovec_copy(registers, mine)
    cute.arch.sync_threads()
    a[thread] = cute.make_tensor(shared, cute.make_layout(2048))[thread]


@tt.jit
def pairs_stored(a: cute.Tensor) -> None:
    store_pairs(a).launch(grid=1, block=128)


def test_a_swizzle_keeps_pairs_together() -> None:
    ptx = ptx_of(pairs_stored, vector(tt.Float16))
    assert re.findall(r"st\.shared\.(\w+)", ptx) == ["b32"] or re.findall(r"st\.shared\.(\S+)", ptx) == ["v2.b16"]


def test_addresses_of_shared_memory_have_32_bits() -> None:
    ptx = ptx_of(pairs_stored, vector(tt.Float16))
    assert re.findall(r"(?:ld|st)\.shared\S*\s.*\[(%\w+?)\d", ptx) == ["%r", "%r"]


@tt.kernel
def widen(a: cute.Tensor, b: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    cute.local_tile(b, (8,), (thread,)).store(cute.local_tile(a, (8,), (thread,)).load().to(tt.Float32))


@tt.jit
def widened(a: cute.Tensor, b: cute.Tensor) -> None:
    widen(a, b).launch(grid=1, block=32)


def test_pairs_of_bfloat16_are_not_taken_apart() -> None:
    tensors = [make_fake_tensor(dtype, (256,), (1,), assumed_align=16) for dtype in (tt.BFloat16, tt.Float32)]
    ptx = ptx_of(widened, *tensors)
    assert "cvt.f32.bf16" not in ptx
    assert "mov.b32 \t{" not in ptx
