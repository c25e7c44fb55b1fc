"""Tensor maps that kernels make: threads write maps of parts of a tensor to memory, and copies of a later kernel go by
them; on the CPU and, from there, on the PTX simulator."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.support.ptx.unified import numpy_gpu
from triptych import cute
from triptych.cute.nvgpu import cpasync
from triptych.cute.runtime import from_dlpack
from triptych.cute.tracing.errors import TensorMapError
from triptych.diagnostics.runtime_errors import LayoutRequirementError

pytestmark = pytest.mark.cpu
TILE, PARTS, COLUMNS = (8, 32), 3, 48
LAYOUT = cute.make_layout(TILE, stride=(32, 1))
ENDS = np.array([4, 9, 20], np.int32)
"""Of the parts: rows of the tensor."""


def rows_from(x: cute.Tensor, begin: Any, end: Any) -> cute.Tensor:
    return cute.make_tensor(x.iterator + begin * x.stride[0], cute.make_layout((end - begin, COLUMNS), stride=x.stride))


def place(maps: cute.Tensor, part: Any) -> cute.Pointer:
    there: cute.Pointer = maps.iterator + part * 16
    return there.align(128)


@tt.kernel
def describe(x: cute.Tensor, ends: cute.Tensor, maps: cute.Tensor) -> None:
    """A thread for each part; the loads and the stores of a part share a box."""
    part, _, _ = cute.arch.thread_idx()
    begin = tt.Int32(0)
    if part > 0:
        begin = ends[part - 1]
    for op, index in ((cpasync.CopyBulkTensorTileG2SOp(), 0), (cpasync.CopyBulkTensorTileS2GOp(), PARTS)):
        atom, _ = cpasync.make_tiled_tma_atom(op, rows_from(x, begin, ends[part]), LAYOUT, TILE)
        cpasync.copy_tensormap(atom, place(maps, part + index))
    cpasync.fence_tma_desc_release()


@tt.kernel
def twice(
    load: cute.CopyAtom, store: cute.CopyAtom, coordinates: cute.Tensor, maps: cute.Tensor, number: tt.Constexpr[int]
) -> None:
    """Twice the numbers of the tile (0, 1) of a part."""
    lane, _, _ = cute.arch.thread_idx()
    allocator = cute.SmemAllocator()
    barrier = allocator.allocate_array(tt.Int64, 1)
    shared = allocator.allocate_tensor(tt.Float32, LAYOUT, 128)
    with cute.arch.elect_one():
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_arrive_and_expect_tx(barrier, 8 * 32 * 4)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    tile = cute.group_modes(cute.local_tile(coordinates, TILE, (0, 1)), 0, 2)
    here, there = cpasync.tma_partition(load, 0, cute.make_layout(1), cute.group_modes(shared, 0, 2), tile)
    for index in tt.range_constexpr(2):
        cpasync.fence_tma_desc_acquire(place(maps, number + index * PARTS))
    cute.arch.prefetch(place(maps, number).llvm_ptr, tensormap=True)
    cute.copy(load, there, here, tma_bar_ptr=barrier, tma_desc_ptr=place(maps, number))
    cute.arch.mbarrier_wait(barrier, 0)
    for i in range(8):
        shared[i, lane] = 2 * shared[i, lane]
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    cute.copy(store, here, there, tma_desc_ptr=place(maps, number + PARTS))
    cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0, read=False)


@tt.jit
def double_part(x: cute.Tensor, ends: cute.Tensor, maps: cute.Tensor, number: tt.Constexpr[int]) -> None:
    load, coordinates = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, LAYOUT, TILE)
    store, _ = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), x, LAYOUT, TILE)
    describe(x, ends, maps).launch(grid=1, block=PARTS)
    twice(load, store, coordinates, maps, number).launch(grid=1, block=32)


def aligned(words: int) -> np.ndarray:
    memory = np.zeros(words + 16, np.int64)
    return memory[(-memory.ctypes.data // 8) % 16 :][:words]


@pytest.mark.parametrize("number", range(PARTS))
@pytest.mark.parametrize("on_gpu", [False, True])
def test_a_map_that_a_kernel_makes_ends_with_its_part(number: int, *, on_gpu: bool) -> None:
    x = np.arange(20 * COLUMNS, dtype=np.float32).reshape(20, COLUMNS)
    expected, begin = x.copy(), [0, *ENDS][number]
    expected[begin : min(begin + 8, ENDS[number]), 32:] *= 2
    maps = aligned(2 * PARTS * 16)
    with numpy_gpu("sm_90a", whole_memory=True) if on_gpu else nullcontext():
        double_part(from_dlpack(x, assumed_align=16), ENDS.copy(), from_dlpack(maps, assumed_align=128), number)
    np.testing.assert_array_equal(x, expected)


def test_a_part_that_no_map_can_begin_with() -> None:
    x = np.zeros((20, COLUMNS), np.float32)
    odd = np.zeros(20 * COLUMNS + 1, np.float32)[1:].reshape(20, COLUMNS)
    maps = from_dlpack(aligned(2 * PARTS * 16), assumed_align=128)

    @tt.jit
    def run(x: cute.Tensor, ends: cute.Tensor, maps: cute.Tensor) -> None:
        describe(x, ends, maps).launch(grid=1, block=PARTS)

    run(x, ENDS.copy(), maps)
    with pytest.raises(LayoutRequirementError, match="aligned to 16 bytes"):
        run(odd, ENDS.copy(), maps)


@tt.kernel
def by_no_memory(x: cute.Tensor, prefetches: tt.Constexpr[bool]) -> None:
    shared = cute.SmemAllocator().allocate_tensor(tt.Float32, LAYOUT, 128)
    atom, coordinates = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), x, LAYOUT, TILE)
    if tt.const_expr(prefetches):
        cpasync.prefetch_descriptor(atom)
    tile = cute.group_modes(cute.local_tile(coordinates, TILE, (0, 0)), 0, 2)
    here, there = cpasync.tma_partition(atom, 0, cute.make_layout(1), cute.group_modes(shared, 0, 2), tile)
    cute.copy(atom, here, there)


@pytest.mark.parametrize("prefetches", [False, True])
def test_a_map_of_a_kernel_is_none_before_it_is_in_memory(*, prefetches: bool) -> None:
    @tt.jit
    def run(x: cute.Tensor) -> None:
        by_no_memory(x, prefetches).launch(grid=1, block=32)

    with pytest.raises(TensorMapError, match="none before it is in memory") as caught:
        run(from_dlpack(np.zeros((8, 32), np.float32), assumed_align=16))
    assert "copy_tensormap" in str(caught.value)
