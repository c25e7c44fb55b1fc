"""Predicated copies of vectors to shared memory are one loop over the lanes; within one memory they stay two."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import triptych as tt
from tests.unit.cute.array_memory import aligned
from triptych import cute
from triptych.cute.runtime import from_dlpack

THREADS, EACH, STEP = 64, 4, 12


@tt.kernel
def copied(x: cute.Tensor, y: cute.Tensor, count: tt.Int32, is_shared: tt.Constexpr[bool]) -> None:
    """Threads below `count`, and no multiple of three, copy a vector to the place of another thread."""
    thread, _, _ = cute.arch.thread_idx()
    place = cute.make_layout(EACH)
    shared = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(STEP * THREADS), byte_alignment=16)
    shared.fill(-1.0)
    cute.arch.sync_threads()
    to = shared.iterator if tt.const_expr(is_shared) else x.iterator
    if thread < count and thread % 3 != 0:
        source = cute.make_tensor((x.iterator + STEP * thread).align(16), place)
        target = cute.make_tensor((to + STEP * (thread ^ 1)).align(16), place)
        cute.autovec_copy(source, target)
    cute.arch.sync_threads()
    for i in tt.range_constexpr(EACH):
        y[thread, i] = (to + STEP * thread + i).load()


@tt.jit
def run(x: cute.Tensor, y: cute.Tensor, count: tt.Int32, is_shared: tt.Constexpr[bool]) -> None:
    copied(x, y, count, is_shared).launch(grid=1, block=THREADS)


@pytest.mark.parametrize("is_shared", [True, False])
@pytest.mark.parametrize("count", [0, 1, 2, 31, 33, 63, 64])
def test_active_lanes_copy(count: int, is_shared: bool) -> None:
    x = aligned(STEP * THREADS, np.float32)
    x[:] = np.arange(STEP * THREADS)
    rows, y = x.reshape(THREADS, STEP)[:, :EACH].copy(), np.zeros((THREADS, EACH), np.float32)
    expected = np.full_like(rows, -1) if is_shared else rows.copy()
    for thread in range(count):
        if thread % 3:
            expected[thread ^ 1] = rows[thread]
    compiled = tt.compile(run, x, y, tt.Int32(count), is_shared)
    compiled(x, y, count)
    np.testing.assert_array_equal(y, expected)
    assert ("lanes32.copy" in compiled.llvm) is is_shared


ROW = 8
"""Threads that copy a row of a matrix whose rows are as long as the run says."""


@tt.kernel
def tile_copied(x: cute.Tensor, y: cute.Tensor, count: tt.Int32) -> None:
    """Vectors of a tile to swizzled places, by threads below `count`."""
    thread, _, _ = cute.arch.thread_idx()
    place = cute.make_layout(EACH)
    shared = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(EACH * THREADS), byte_alignment=16)
    shared.fill(-1.0)
    cute.arch.sync_threads()
    if thread < count:
        row, column = thread // ROW, thread % ROW
        far = row.to(tt.Int64) * x.stride[0]
        source = cute.make_tensor((x.iterator + far + EACH * column).align(16), place)
        to = EACH * (thread ^ (row % 4))
        cute.autovec_copy(source, cute.make_tensor((shared.iterator + to).align(16), place))
    cute.arch.sync_threads()
    for i in tt.range_constexpr(EACH):
        y[thread, i] = shared[EACH * thread + i]


@tt.jit
def run_tile(x: cute.Tensor, y: cute.Tensor, count: tt.Int32) -> None:
    tile_copied(x, y, count).launch(grid=1, block=THREADS)


@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 64])
def test_whole_warps_copy_known_places_without_looking_for_lanes(count: int) -> None:
    x = aligned(2 * THREADS * EACH, np.float32).reshape(THREADS // ROW, -1)
    x[:] = np.arange(x.size).reshape(x.shape)
    y, expected = np.zeros((THREADS, EACH), np.float32), np.full((THREADS, EACH), -1, np.float32)
    for thread in range(count):
        row, column = divmod(thread, ROW)
        expected[thread ^ (row % 4)] = x[row, EACH * column : EACH * (column + 1)]
    dynamic = from_dlpack(x, assumed_align=16).mark_compact_shape_dynamic(1, (0, 1), divisibility=4)
    compiled = tt.compile(run_tile, dynamic, y, tt.Int32(count))
    compiled(dynamic, y, count)
    np.testing.assert_array_equal(y, expected)
    of_two_addresses = r"call void @lanes32\.copy\.[0-9a-f]{16}\(ptr %\d+, ptr %\d+, i32 %\d+, i64 %\d+\)"
    assert re.search(of_two_addresses, compiled.llvm.replace('"', ""))


@tt.kernel
def lane_after_a_store_of_one(o: cute.Tensor) -> None:
    tid, _, _ = cute.arch.thread_idx()
    lane = cute.arch.lane_idx()
    for at in range(tid, 1, 1):
        o[at] = lane
    for at in range(tid, 2, 1):
        o[at] = lane and 3


@tt.jit(opt_level=0)
def launch_one_thread(o: cute.Tensor) -> None:
    lane_after_a_store_of_one(o).launch(grid=1, block=1)


def test_a_vector_that_a_conditional_store_makes_is_not_used_after_it() -> None:
    o = np.full(4, 7, np.int32)
    launch_one_thread(o)
    assert o.tolist() == [0, 0, 7, 7]


@tt.kernel
def doubled(x: cute.Tensor, y: cute.Tensor, each: tt.Constexpr[int], count: tt.Constexpr[int], limit: tt.Int32) -> None:
    """Vectors of each thread, where only a run tells, are read, computed with element by element, and written."""
    thread, _, _ = cute.arch.thread_idx()
    size = each * x.element_type.width // 8
    for i in tt.range_constexpr(count):
        place = ((thread * 5) ^ i) + THREADS * 8 * i
        source = cute.make_tensor((x.iterator + each * place).align(size), cute.make_layout(each))
        target = cute.make_tensor((y.iterator + each * place).align(size), cute.make_layout(each))
        held = cute.make_rmem_tensor(cute.make_layout(each), x.element_type)
        if thread < limit:
            cute.autovec_copy(source, held)
            held.store(held.load() + held.load())
            cute.autovec_copy(held, target)


@tt.jit
def doubling(
    x: cute.Tensor, y: cute.Tensor, each: tt.Constexpr[int], count: tt.Constexpr[int], limit: tt.Int32
) -> None:
    doubled(x, y, each, count, limit).launch(grid=1, block=THREADS)


@pytest.mark.parametrize(
    ("dtype", "each"),
    [(np.int8, 4), (np.int8, 16), (np.float16, 8), (ml_dtypes.bfloat16, 8), (np.float32, 4), (np.int64, 2)],
)
def test_vectors_go_by_rows(dtype: Any, each: int) -> None:
    x, y = (aligned(4 * THREADS * 8 * each, dtype) for _ in range(2))
    x[:] = (np.arange(len(x)) % 61).astype(dtype)
    for limit in (64, 37):
        y[:] = np.zeros(len(y), dtype)
        expected = y.copy().reshape(-1, each)
        for i in range(4):
            places = ((np.arange(limit) * 5) ^ i) + THREADS * 8 * i
            expected[places] = (x + x).reshape(-1, each)[places]
        doubling(x, y, each, 4, limit)
        np.testing.assert_array_equal(y, expected.reshape(-1))


def test_shuffles_of_vectors_are_written_once() -> None:
    """Those that take the numbers of each lane apart, and put them together again."""
    x, y = (aligned(8 * THREADS * 8 * 8, np.float16) for _ in range(2))
    written = [tt.compile(doubling, x, y, 8, count, tt.Int32(64)).llvm for count in (4, 8)]
    fewer, more = (llvm.count("shufflevector") for llvm in written)
    assert fewer == more > 0
