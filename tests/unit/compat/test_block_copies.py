"""`cutlass.utils.block_copy`: tiles by TMA, alone and for several blocks of a cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.compat.utils import block_copy
from triptych.cute.nvgpu import cpasync
from triptych.cute.runtime import from_dlpack
from triptych.cute.tracing.errors import BoxCopyError, CopyInstructionError

TILE = (16, 32)


@tt.kernel
def through_kernel(
    load: cute.CopyAtom,
    source: cute.Tensor,
    store: cute.CopyAtom,
    target: cute.Tensor,
    shape: tt.Constexpr[Any],
    dimension: tt.Constexpr[Any],
) -> None:
    """Each block stores the tile that its coordinate along the dimension names; the blocks that share it load it."""
    thread, _, _ = cute.arch.thread_idx()
    rank = cute.arch.block_idx_in_cluster()
    row, column = rank % shape[0], rank // shape[0]
    allocator = cute.SmemAllocator()
    barrier = allocator.allocate_array(tt.Int64, 1)
    shared = allocator.allocate_tensor(tt.Float32, cute.make_layout(TILE, stride=(32, 1)), 1024)
    if thread == 0:
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_arrive_and_expect_tx(barrier, 16 * 32 * 4)
    cute.arch.mbarrier_init_fence()
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    tile = 0 if tt.const_expr(dimension is None) else row if tt.const_expr(dimension == "M") else column
    here = cute.group_modes(shared, 0, 2)
    there = cute.group_modes(cute.local_tile(source, TILE, (tile, 0)), 0, 2)
    if thread < 32:
        if tt.const_expr(dimension is None):
            block_copy(load, there, here, tma_bar_ptr=barrier)
        else:
            multicast = {"cluster_shape": shape, "multicast_dim": dimension, "use_2cta_mma_inst": False}
            block_copy(load, there, here, tma_bar_ptr=barrier, tma_multicast=multicast)
    cute.arch.mbarrier_wait(barrier, 0)
    if thread < 32:
        block_copy(store, here, cute.group_modes(cute.local_tile(target, TILE, (rank, 0)), 0, 2))
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0)
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@tt.jit
def through(
    source: cute.Tensor,
    target: cute.Tensor,
    shape: tt.Constexpr[Any],
    dimension: tt.Constexpr[Any],
    alone: tt.Constexpr[bool],
) -> None:
    layout = cute.make_layout(TILE, stride=(32, 1))
    sharing = 1 if dimension is None or alone else shape[1] if dimension == "M" else shape[0]
    if sharing > 1:
        op: Any = cpasync.CopyBulkTensorTileG2SMulticastOp()
        load, read = cpasync.make_tiled_tma_atom(op, source, layout, TILE, num_multicast=sharing)
    else:
        load, read = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), source, layout, TILE)
    store, written = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), target, layout, TILE)
    grid = (shape[0] * shape[1], 1, 1)
    through_kernel(load, read, store, written, shape, dimension).launch(grid=grid, block=64, cluster=grid)


@pytest.mark.parametrize(
    ("shape", "dimension"), [((1, 1), None), ((2, 1), "M"), ((2, 1), "N"), ((1, 2), "M"), ((2, 2), "M"), ((2, 2), "N")]
)
@pytest.mark.parametrize("alone", [False, True])
def test_tiles_arrive_in_the_blocks_that_share_them(shape: tuple[int, int], dimension: str | None, alone: bool) -> None:
    """By an atom for all of them, and by one for each `alone`, as QuACK makes them."""
    blocks = shape[0] * shape[1]
    source = np.arange(blocks * 16 * 32, dtype=np.float32).reshape(blocks * 16, 32)
    target = np.zeros_like(source)
    through(from_dlpack(source, assumed_align=16), from_dlpack(target, assumed_align=16), shape, dimension, alone)
    for rank in range(blocks):
        tile = {None: 0, "M": rank % shape[0], "N": rank // shape[0]}[dimension]
        np.testing.assert_array_equal(target[rank * 16 : rank * 16 + 16], source[tile * 16 : tile * 16 + 16])


@tt.kernel
def refused_kernel(load: cute.CopyAtom, source: cute.Tensor, dimension: tt.Constexpr[Any]) -> None:
    shared = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(TILE, stride=(32, 1)), 1024)
    there = cute.group_modes(cute.local_tile(source, TILE, (0, 0)), 0, 2)
    multicast = {"cluster_shape": (1, 1), "multicast_dim": dimension, "use_2cta_mma_inst": True}
    block_copy(load, there, cute.group_modes(shared, 0, 2), tma_multicast=multicast)


@tt.jit
def refused(source: cute.Tensor) -> None:
    layout = cute.make_layout(TILE, stride=(32, 1))
    load, read = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), source, layout, TILE)
    refused_kernel(load, read, "M").launch(grid=1, block=32)


def test_pairs_of_blocks_are_refused() -> None:
    with pytest.raises(BoxCopyError, match="no pairs of blocks"):
        refused(from_dlpack(np.zeros(TILE, np.float32), assumed_align=16))


@tt.jit
def shared_by_others(source: cute.Tensor) -> None:
    layout = cute.make_layout(TILE, stride=(32, 1))
    load, read = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), source, layout, TILE)
    partitioned_kernel(load, read).launch(grid=2, block=32, cluster=(2, 1, 1))


@tt.kernel
def partitioned_kernel(load: cute.CopyAtom, source: cute.Tensor) -> None:
    shared = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(TILE, stride=(32, 1)), 1024)
    there = cute.group_modes(cute.local_tile(source, TILE, (0, 0)), 0, 2)
    cpasync.tma_partition(
        load, cute.arch.block_idx_in_cluster(), cute.make_layout(2), cute.group_modes(shared, 0, 2), there
    )


def test_an_atom_for_another_number_of_blocks_is_refused() -> None:
    """Each block would begin in the middle of its tile."""
    with pytest.raises(CopyInstructionError, match="an atom for 1"):
        shared_by_others(from_dlpack(np.zeros(TILE, np.float32), assumed_align=16))
