"""Clusters on the CPU: blocks that reach each other's shared memory and wait for each other, against NumPy."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.diagnostics.kernel_errors import ClusterError, DeadlockError, LaunchShapeError
from triptych.ir.errors import LoweringError

THREADS = 64


def _meet() -> None:
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@cute.kernel
def neighbours(out: cute.Tensor, blocks: tt.Constexpr[int]) -> None:
    """Every thread reads what the opposite thread of the next block of its cluster has written."""
    thread, _, _ = cute.arch.thread_idx()
    x, y, z = cute.arch.block_idx()
    width, height, _ = cute.arch.grid_dim()
    number = x + (y + z * height) * width
    pointer = cute.arch.alloc_smem(tt.Int32, THREADS)
    cute.make_tensor(pointer, cute.make_layout(THREADS))[thread] = number * THREADS + thread
    _meet()
    rank = cute.arch.block_idx_in_cluster()
    there = cute.make_tensor(cute.arch.map_dsmem_ptr(pointer, (rank + 1) % blocks), cute.make_layout(THREADS))
    out[number, thread] = there[THREADS - 1 - thread]
    _meet()


@pytest.mark.parametrize(
    ("grid", "extents"),
    [
        ((4, 1, 1), (2, 1, 1)),
        ((1, 8, 1), (1, 4, 1)),
        ((4, 2, 2), (2, 2, 1)),
        ((2, 2, 6), (2, 1, 3)),
        ((16, 1, 1), (16, 1, 1)),
    ],
)
def test_blocks_read_what_others_of_their_cluster_wrote(
    grid: tuple[int, int, int], extents: tuple[int, int, int]
) -> None:
    @cute.jit
    def run(out: cute.Tensor) -> None:
        neighbours(out, prod(extents)).launch(grid=grid, block=THREADS, cluster=extents)

    out = np.zeros((prod(grid), THREADS), np.int32)
    run(out)
    expected = np.zeros_like(out)
    for number in range(prod(grid)):
        place = (number % grid[0], number // grid[0] % grid[1], number // grid[0] // grid[1])
        first = [p - p % e for p, e in zip(place, extents, strict=True)]
        within = [p % e for p, e in zip(place, extents, strict=True)]
        rank = (within[0] + (within[1] + within[2] * extents[1]) * extents[0] + 1) % prod(extents)
        other = (rank % extents[0], rank // extents[0] % extents[1], rank // extents[0] // extents[1])
        x, y, z = (f + o for f, o in zip(first, other, strict=True))
        expected[number] = (x + (y + z * grid[1]) * grid[0]) * THREADS + THREADS - 1 - np.arange(THREADS)
    assert np.array_equal(out, expected)


@cute.kernel
def sums(values: cute.Tensor, out: cute.Tensor, blocks: tt.Constexpr[int]) -> None:
    """Threads of a block hand its number to every block of the cluster, asynchronously, by addresses of 32 bits."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    barrier = cute.arch.alloc_smem(tt.Int64, 1)
    pointer = cute.arch.alloc_smem(tt.Float32, blocks)
    if thread == 0:
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.mbarrier_arrive_and_expect_tx(barrier, 4 * blocks)
    cute.arch.cluster_arrive_relaxed()
    cute.arch.cluster_wait()
    if thread < blocks:
        mapa = "mapa.shared::cluster.u32 $0, $1, $2;"
        mine = (pointer + cute.arch.block_idx_in_cluster()).toint()
        place = cute.arch.inline_ptx(mapa, "=r,r,r", [mine, thread], tt.Int32)
        counting = cute.arch.inline_ptx(mapa, "=r,r,r", [barrier.toint(), thread], tt.Int32)
        store = "st.async.shared::cluster.mbarrier::complete_tx::bytes.f32 [$0], $1, [$2];"
        cute.arch.inline_ptx(store, "r,f,r", [place, values[block], counting])
    cute.arch.mbarrier_wait(barrier, 0)
    if thread == 0:
        total = tt.Float32(0)
        found = cute.make_tensor(pointer, cute.make_layout(blocks))
        for i in tt.range_constexpr(blocks):
            total += found[i]
        out[block] = total
    _meet()


@pytest.mark.parametrize("blocks", [1, 2, 8])
def test_asynchronous_stores_are_counted_where_they_go(blocks: int) -> None:
    @cute.jit
    def run(values: cute.Tensor, out: cute.Tensor) -> None:
        sums(values, out, blocks).launch(grid=24, block=THREADS, cluster=(blocks, 1, 1))

    values = np.arange(24, dtype=np.float32) ** 2
    out = np.zeros(24, np.float32)
    run(values, out)
    assert np.array_equal(out, values.reshape(-1, blocks).sum(1).repeat(blocks))


@cute.kernel
def fours(values: cute.Tensor, out: cute.Tensor) -> None:
    """Block i sends its four numbers to the next block by one store of a vector."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    barrier = cute.arch.alloc_smem(tt.Int64, 1)
    pointer = cute.arch.alloc_smem(tt.Float32, 4, alignment=16)
    if thread == 0:
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.mbarrier_arrive_and_expect_tx(barrier, 16)
    _meet()
    if thread == 0:
        peer = 1 - cute.arch.block_idx_in_cluster()
        mapa = "mapa.shared::cluster.u32 $0, $1, $2;"
        place = cute.arch.inline_ptx(mapa, "=r,r,r", [pointer.toint(), peer], tt.Int32)
        counting = cute.arch.inline_ptx(mapa, "=r,r,r", [barrier.toint(), peer], tt.Int32)
        text = (
            "{ .reg .v4 .f32 v; mov.f32 v.x, $1; mov.f32 v.y, $2; mov.f32 v.z, $3; mov.f32 v.w, $4;"
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [$0], v, [$5]; }"
        )
        cute.arch.inline_ptx(text, "r,f,f,f,f,r", [place, *(values[block, i] for i in range(4)), counting])
    cute.arch.mbarrier_wait(barrier, 0)
    if thread < 4:
        out[block, thread] = cute.make_tensor(pointer, cute.make_layout(4))[thread]
    _meet()


def test_stores_of_vectors_arrive_whole() -> None:
    @cute.jit
    def run(values: cute.Tensor, out: cute.Tensor) -> None:
        fours(values, out).launch(grid=2, block=THREADS, cluster=(2, 1, 1))

    values = np.arange(8, dtype=np.float32).reshape(2, 4)
    out = np.zeros((2, 4), np.float32)
    run(values, out)
    assert np.array_equal(out, values[::-1])


def test_arrivals_at_the_barriers_of_others() -> None:
    """Block 1 waits for one arrival from each block of its cluster, then the others for one from block 1."""

    @cute.kernel
    def kernel(out: cute.Tensor) -> None:
        thread, _, _ = cute.arch.thread_idx()
        rank = cute.arch.block_idx_in_cluster()
        barrier = cute.arch.alloc_smem(tt.Int64, 2)
        if thread == 0:
            cute.arch.mbarrier_init(barrier, 4)
            cute.arch.mbarrier_init(barrier + 1, 1)
            cute.arch.mbarrier_init_fence()
        _meet()
        if thread == 0:
            cute.arch.mbarrier_arrive(barrier, 1)
        if rank == 1:
            cute.arch.mbarrier_wait(barrier, 0)
            if thread < 4:
                cute.arch.mbarrier_arrive(barrier + 1, thread)
        cute.arch.mbarrier_wait(barrier + 1, 0)
        out[cute.arch.block_idx()[0], thread] = rank + 1
        _meet()

    @cute.jit
    def run(out: cute.Tensor) -> None:
        kernel(out).launch(grid=8, block=THREADS, cluster=(4, 1, 1))

    out = np.zeros((8, THREADS), np.int32)
    run(out)
    assert np.array_equal(out, np.tile(np.arange(1, 5), 2)[:, None].repeat(THREADS, 1))


def test_numbers_of_shared_memory_have_the_rank_in_their_highest_bits() -> None:
    @cute.kernel
    def kernel(out: cute.Tensor) -> None:
        block, _, _ = cute.arch.block_idx()
        pointer = cute.arch.alloc_smem(tt.Int32, 64) + 3
        pointer.store(block + 100)
        _meet()
        rank = cute.arch.block_idx_in_cluster()
        there = cute.arch.inline_ptx("mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r", [pointer, rank ^ 1], tt.Int32)
        out[block, 0] = pointer.toint()
        out[block, 1] = there
        other = cute.make_ptr(tt.Int32, there, cute.AddressSpace.dsmem)
        out[block, 2] = other.load()
        out[block, 3] = other.toint()
        out[block, 4] = cute.arch.inline_ptx("ld.shared::cluster.b32 $0, [$1];", "=r,r", [there], tt.Int32)
        out[block, 5] = cute.arch.inline_ptx("mov.u32 $0, %cluster_ctarank;", "=r", [], tt.Int32)
        _meet()

    @cute.jit
    def run(out: cute.Tensor) -> None:
        kernel(out).launch(grid=4, block=32, cluster=(2, 1, 1))

    out = np.zeros((4, 6), np.int32)
    run(out)
    expected = [
        [(b % 2) << 24 | 12, (b % 2 ^ 1) << 24 | 12, (b ^ 1) + 100, (b % 2 ^ 1) << 24 | 12, (b ^ 1) + 100, b % 2]
        for b in range(4)
    ]
    assert out.tolist() == expected


def test_blocks_that_have_nothing_to_do_with_each_other_are_not_run_together() -> None:
    @cute.kernel
    def kernel(out: cute.Tensor) -> None:
        out[cute.arch.block_idx()[0], cute.arch.thread_idx()[0]] = cute.arch.block_idx_in_cluster()

    @cute.jit
    def run(out: cute.Tensor) -> None:
        kernel(out).launch(grid=6, block=32, cluster=(3, 1, 1))

    out = np.zeros((6, 32), np.int32)
    run(out)
    assert np.array_equal(out, np.tile(np.arange(3), 2)[:, None].repeat(32, 1))


def test_threads_that_have_ended_are_not_waited_for() -> None:
    @cute.kernel
    def kernel(out: cute.Tensor) -> None:
        if cute.arch.warp_idx() == 1 or cute.arch.block_idx()[0] == 1:
            return
        _meet()
        out[cute.arch.block_idx()[0]] = 1

    @cute.jit
    def run(out: cute.Tensor) -> None:
        kernel(out).launch(grid=2, block=THREADS, cluster=(2, 1, 1))

    out = np.zeros(2, np.int32)
    run(out)
    assert out.tolist() == [1, 0]


def test_masks_of_blocks_that_only_the_run_knows() -> None:
    @cute.kernel
    def kernel(out: cute.Tensor) -> None:
        blocks = cute.make_layout((2, 4, 1))
        rank = cute.arch.block_idx_in_cluster()
        coordinate = cute.idx2crd(rank, (2, 4, 1))
        for mode in tt.range_constexpr(2):
            out[rank, mode] = cute.make_layout_image_mask(blocks, coordinate, mode=mode)

    @cute.jit
    def run(out: cute.Tensor) -> None:
        kernel(out).launch(grid=(2, 4, 1), block=1, cluster=(2, 4, 1))

    out = np.zeros((8, 2), np.int32)
    run(out)
    cluster = cute.make_layout((2, 4, 1))
    expected = [
        [cute.make_layout_image_mask(cluster, (rank % 2, rank // 2, 0), mode=mode) for mode in range(2)]
        for rank in range(8)
    ]
    assert out.tolist() == expected


# what is wrong ------------------------------------------------------------------------------------------------------
@cute.kernel
def wrong(kind: tt.Constexpr[str]) -> None:
    rank = cute.arch.block_idx_in_cluster()
    pointer = cute.arch.alloc_smem(tt.Int32, 1)
    if kind == "wait":
        cute.arch.cluster_wait()
    if kind == "twice":
        cute.arch.cluster_arrive()
        cute.arch.cluster_arrive()
    if kind == "rank":
        cute.arch.map_dsmem_ptr(pointer, 2).store(0)
    if kind == "ended" and rank == 1:
        cute.arch.barrier(barrier_id=1, number_of_threads=THREADS)
        cute.arch.map_dsmem_ptr(pointer, 0).store(0)
    if kind == "deadlock":
        if rank == 1:
            cute.arch.barrier(barrier_id=1, number_of_threads=2 * THREADS)
        _meet()


@pytest.mark.parametrize(
    ("kind", "error", "text"),
    [
        ("wait", ClusterError, "has not arrived"),
        ("twice", ClusterError, "arrives twice"),
        ("rank", ClusterError, "no block with this rank"),
        ("ended", ClusterError, "has ended is still in use"),
        ("deadlock", DeadlockError, "of block 1 of the cluster wait at line"),
    ],
)
def test_wrong_uses_are_named(kind: str, error: type[Exception], text: str) -> None:
    @cute.jit
    def run() -> None:
        wrong(kind).launch(grid=2, block=THREADS, cluster=(2, 1, 1))

    with pytest.raises(error, match=text):
        run()


def test_a_grid_has_whole_clusters_of_at_most_16_blocks() -> None:
    @cute.kernel
    def kernel() -> None:
        _meet()

    @cute.jit
    def run(blocks: tt.Int32) -> None:
        kernel().launch(grid=blocks, block=32, cluster=(2, 1, 1))

    run(6)
    with pytest.raises(LaunchShapeError, match="whole clusters"):
        run(7)

    @cute.jit
    def too_large() -> None:
        kernel().launch(grid=32, block=32, cluster=(32, 1, 1))

    with pytest.raises(LoweringError, match="at most 16 blocks"):
        too_large()
