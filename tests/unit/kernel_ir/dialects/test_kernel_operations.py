"""The table of traits against the code that emits operations, and what happens without an entry."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import triptych as tt
import triptych.cute as cute
from tests.ir.traced import traced
from triptych.ir import bindings
from triptych.ir.errors import LoweringError
from triptych.ir.modules import operations_named
from triptych.kernel_ir.dialects.kernel_operations import TRAITS, has, is_described, is_pure, traits, walk, writes
from triptych.kernel_ir.dialects.opdef import Result, Scope, Traits
from triptych.kernel_ir.dialects.simt import KERNEL_DIALECTS
from triptych.kernel_ir.dialects.tile import WGMMA_STEPS
from triptych.targets.nvptx.passes.lower_mbarrier_and_tma import RULES
from triptych.targets.nvptx.passes.lower_simt import ROWS
from triptych.targets.nvptx.passes.lower_tensor_memory import TENSOR_RULES

PACKAGE = Path(__file__).resolve().parents[4] / "src" / "triptych"
EMITTING = ("cute/**/*.py", "frontends/ptx/*.py", "metastage/**/*.py")
NAME = re.compile(r'"((?:simt|tile|gpu|llvm|scf|cf|ub)\.[a-z][\w.]*)"')
NOT_IN_KERNELS = {
    "scf.execute_region",  # while tracing, until it is known what a loop or branch carries
    *("llvm.fptosi.sat", "llvm.fptoui.sat"),  # intrinsics
    "gpu.func",  # whose arguments those of the kernel are
    "llvm.insertvalue",  # a launch's events and stream, in host code
}


def parsed(line: str) -> Any:
    context = bindings.mlir().Context()
    context.allow_unregistered_dialects = True
    text = f"func.func @f(%i: i32, %p: !llvm.ptr, %b: i1) {{\n{line}\nreturn }}"
    return bindings.mlir().Module.parse(text, context)


def test_every_operation_that_is_emitted_has_an_entry() -> None:
    files = [file for pattern in EMITTING for file in PACKAGE.glob(pattern)]
    emitted = {name for file in files for name in NAME.findall(file.read_text(encoding="utf-8"))}
    assert emitted - set(TRAITS) == NOT_IN_KERNELS


def test_every_operation_of_our_dialects_has_an_entry() -> None:
    declared = {operation for dialect in KERNEL_DIALECTS for operation in dialect.operations}
    assert declared == {name for name in TRAITS if name.startswith(("simt.", "tile."))}


def test_the_nvidia_target_lowers_every_operation_of_our_dialects() -> None:
    """Products and divisors have passes of their own, prefetches go with the hints for caches, the host makes maps;
    what stands for all GPUs is an instruction of the program's own there."""
    ours = {name for name in TRAITS if name.startswith(("simt.", "tile."))}
    assert not set(ROWS) & set(RULES)
    assert not set(TENSOR_RULES) & (set(ROWS) | set(RULES))
    assert set(ROWS) | set(RULES) | set(TENSOR_RULES) | set(WGMMA_STEPS) == ours - {
        "tile.mma",
        "tile.mma_block_scale",
        "simt.prefetch",
        "simt.divisor",
        "simt.is_multicast",
        "simt.multicast_ranks",
        "simt.multicast_stride",
        "tile.tensor_map",
    }


def test_an_operation_without_an_entry_is_an_error() -> None:
    module = parsed('"nobody.knows"() : () -> ()')
    (operation,) = operations_named(module, "nobody.knows")
    assert not is_described(operation)
    for question in (traits, is_pure, writes, lambda found: has(found, lambda row: row.reads)):
        with pytest.raises(LoweringError, match=r"nobody has said what nobody\.knows does"):
            question(operation)


def test_an_operation_without_an_entry_inside_another_is_an_error() -> None:
    module = parsed('scf.if %b { "nobody.knows"() : () -> () }')
    (branch,) = operations_named(module, "scf.if")
    with pytest.raises(LoweringError, match=r"nobody\.knows"):
        writes(branch)


def test_names_of_the_meetings() -> None:
    barriers, of_a_warp, enclosing = (
        {name for name, row in TRAITS.items() if holds(row)}
        for holds in (Traits.is_barrier, Traits.is_of_a_warp, lambda row: row.encloses)
    )
    assert barriers == {"gpu.barrier", "simt.barrier", "simt.barrier_arrive"}
    assert of_a_warp == {
        *(f"simt.{name}" for name in ("shuffle", "vote", "reduce", "match", "elect", "sync_warp")),
        *("tile.mma", "tile.mma_block_scale", "tile.load_matrix", "tile.store_matrix"),
        *(f"tile.tmem_{name}" for name in ("alloc", "dealloc", "permit", "load", "load_reduce", "store", "wait")),
    }
    assert enclosing == {"scf.for", "scf.if", "scf.while"}


@pytest.mark.parametrize("name", TRAITS)
def test_rows_make_sense(name: str) -> None:
    row = TRAITS[name]
    if row.collective:
        assert row.scope in (Scope.WARP, Scope.BLOCK)
        assert not row.is_pure()
    if row.writes:
        assert row.is_of_each_thread()
    if row.is_pure():
        assert row.scope is Scope.THREAD
        assert row.result is not Result.UNIFORM


def test_arithmetic_computes_and_vectors_in_memory_do_not() -> None:
    module = parsed("%0 = arith.addi %i, %i : i32\n%1 = math.ctpop %i : i32\n%2 = llvm.load %p : !llvm.ptr -> i32")
    assert [is_pure(found) for found in walk(module.operation) if found.results] == [True, True, False]
    assert TRAITS["vector.load"].reads
    assert TRAITS["vector.store"].writes


@tt.kernel
def exchanging(x: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    x[thread] = cute.arch.shuffle_sync_bfly(x[thread], offset=1)
    cute.arch.barrier(barrier_id=1, number_of_threads=32)


@tt.jit
def exchange(x: cute.Tensor) -> None:
    exchanging(x).launch(grid=1, block=32)


def test_another_thread_reads_a_kept_module() -> None:
    """Its context has to know the dialects first."""
    kept = traced(exchange, cute.runtime.make_fake_compact_tensor(tt.Float32, (32,))).module
    text = str(kept)
    assert '"simt.shuffle"' in text
    kept.store()
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(str, kept).result() == text
