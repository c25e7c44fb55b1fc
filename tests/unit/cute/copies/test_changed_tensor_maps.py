"""Tensor maps that a kernel changes: a copy in memory becomes the map of another tensor, and copies go by it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.compat.mlir_builders.dialects import nvvm
from triptych.cute.nvgpu import cpasync
from triptych.cute.runtime import from_dlpack
from triptych.cute.tracing.errors import CopyMemoryError
from triptych.sanitizer.findings import collecting
from triptych.support.config import override
from triptych.utils import TensorMapManager, TensorMapUpdateMode

TILE = (8, 32)
LAYOUT = cute.make_layout(TILE, stride=(32, 1))


@tt.kernel
def load_of_another(
    atom: cute.CopyAtom,
    coordinates: cute.Tensor,
    other: cute.Tensor,
    maps: cute.Tensor,
    out: cute.Tensor,
    mode: tt.Constexpr[Any],
    by_builder: tt.Constexpr[bool],
) -> None:
    lane, _, _ = cute.arch.thread_idx()
    allocator = cute.SmemAllocator()
    barrier = allocator.allocate_array(tt.Int64, 1)
    in_shared = allocator.allocate_array(tt.Int64, 16, 128)
    shared = allocator.allocate_tensor(tt.Float32, LAYOUT, 128)
    with cute.arch.elect_one():
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_arrive_and_expect_tx(barrier, 8 * 32 * 4)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    manager = TensorMapManager(mode, 128)
    used = manager.get_tensormap_ptr(maps.iterator)
    manager.init_tensormap_from_atom(atom, in_shared if mode is TensorMapUpdateMode.SMEM else used, 0)
    manager.fence_tensormap_initialization()
    cute.arch.sync_warp()
    manager.update_tensormap((other,), (atom,), (used,), 0, (in_shared,))
    manager.fence_tensormap_update(used)
    tile = cute.group_modes(cute.local_tile(coordinates, TILE, (1, 1)), 0, 2)
    here, there = cpasync.tma_partition(atom, 0, cute.make_layout(1), cute.group_modes(shared, 0, 2), tile)
    if tt.const_expr(by_builder):
        nvvm.CpAsyncBulkTensorGlobalToSharedClusterOp(
            here.iterator,
            manager.get_tensormap_ptr(used, cute.AddressSpace.generic),
            [tt.Int32(32), tt.Int32(8)],
            barrier,
            [],
            predicate=nvvm.elect_sync(),
        )
    else:
        cute.copy(atom, there, here, tma_bar_ptr=barrier, tma_desc_ptr=used)
    cute.arch.mbarrier_wait(barrier, 0)
    for i in range(8):
        out[i, lane] = shared[i, lane]


def check_a_changed_map(mode: TensorMapUpdateMode, by_builder: bool, seen_as: type = np.float32) -> None:
    first, other = np.zeros((8, 32), np.float32), np.arange(12 * 48, dtype=np.float32).reshape(12, 48)
    maps, out = np.zeros(32, np.int64), np.zeros((8, 32), np.float32)
    aligned = maps[(-maps.ctypes.data // 8) % 16 :][:16]

    @tt.jit
    def run(source: cute.Tensor, another: cute.Tensor, memory: cute.Tensor, target: cute.Tensor) -> None:
        atom, coordinates = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), source, LAYOUT, TILE)
        load_of_another(atom, coordinates, another, memory, target, mode, by_builder).launch(grid=1, block=32)

    arrays = [from_dlpack(array, assumed_align=16) for array in (first, other.view(seen_as))]
    run(*arrays, from_dlpack(aligned, assumed_align=64), out)
    expected = np.zeros((8, 32), np.float32)
    expected[:4, :16] = other[8:, 32:]
    assert np.array_equal(out, expected)


@pytest.mark.parametrize("mode", list(TensorMapUpdateMode))
@pytest.mark.parametrize("by_builder", [False, True])
def test_a_changed_map_is_that_of_the_other_tensor(mode: TensorMapUpdateMode, by_builder: bool) -> None:
    check_a_changed_map(mode, by_builder)


def test_a_map_of_other_elements_counts_its_own() -> None:
    """As bytes of two numbers of four bits."""
    check_a_changed_map(TensorMapUpdateMode.GMEM, by_builder=False, seen_as=np.int16)
    with pytest.raises(CopyMemoryError, match="keeps the size of its elements"):
        check_a_changed_map(TensorMapUpdateMode.GMEM, by_builder=False, seen_as=np.float64)


def test_one_lane_changes_a_map_and_the_bytes_of_a_box_are_those_that_its_map_says() -> None:
    """Nothing is found, not even a note, where only the map knows what a box is."""
    with override(debug="init,global"), collecting() as collection:
        check_a_changed_map(TensorMapUpdateMode.GMEM, by_builder=True)
    assert not collection.findings


@tt.kernel
def change_behind_a_load(
    atom: cute.CopyAtom, coordinates: cute.Tensor, others: cute.Tensor, maps: cute.Tensor, out: cute.Tensor
) -> None:
    """A map becomes that of one tensor, a load begins, and the map becomes that of the next."""
    lane, _, _ = cute.arch.thread_idx()
    allocator = cute.SmemAllocator()
    barrier = allocator.allocate_array(tt.Int64, 1)
    shared = allocator.allocate_tensor(tt.Float32, cute.make_layout((*TILE, 2), stride=(32, 1, 256)), 128)
    with cute.arch.elect_one():
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_arrive_and_expect_tx(barrier, 2 * 8 * 32 * 4)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    manager = TensorMapManager(TensorMapUpdateMode.GMEM, 128)
    used = manager.get_tensormap_ptr(maps.iterator)
    manager.init_tensormap_from_atom(atom, used, 0)
    manager.fence_tensormap_initialization()
    tile = cute.group_modes(cute.local_tile(coordinates, TILE, (0, 0)), 0, 2)
    for i in tt.range_constexpr(2):
        manager.update_tensormap((others[None, None, i],), (atom,), (used,), 0, (None,))
        manager.fence_tensormap_update(used)
        target = cute.group_modes(shared[None, None, i], 0, 2)
        here, there = cpasync.tma_partition(atom, 0, cute.make_layout(1), target, tile)
        cute.copy(atom, there, here, tma_bar_ptr=barrier, tma_desc_ptr=used)
    cute.arch.mbarrier_wait(barrier, 0)
    for i in range(8):
        out[i, lane, 0] = shared[i, lane, 0]
        out[i, lane, 1] = shared[i, lane, 1]


@pytest.mark.parametrize("order", ["early", "late", "seed:1"])
def test_a_load_goes_by_the_map_that_there_was_when_it_began(order: str) -> None:
    """Kernels for groups of products change a map while loads of the group before are under way."""
    others, first = np.arange(512, dtype=np.float32).reshape(2, 8, 32), np.zeros((8, 32), np.float32)
    maps, out = np.zeros(32, np.int64), np.zeros((8, 32, 2), np.float32)
    aligned = maps[(-maps.ctypes.data // 8) % 16 :][:16]

    @tt.jit
    def run(source: cute.Tensor, another: cute.Tensor, memory: cute.Tensor, target: cute.Tensor) -> None:
        atom, coordinates = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), source, LAYOUT, TILE)
        change_behind_a_load(atom, coordinates, another, memory, target).launch(grid=1, block=32)

    with override(async_=order):
        arrays = [from_dlpack(array, assumed_align=16) for array in (first, others.transpose(1, 2, 0))]
        run(*arrays, from_dlpack(aligned, assumed_align=64), out)
    assert np.array_equal(out, others.transpose(1, 2, 0))
