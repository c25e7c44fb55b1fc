"""One product of matrices, y = x wᵀ, in steps from plain copies to a cluster: the guide pipelined-gemm.

Each step changes one thing of the one before. Factors are f16, sums f32; extents are multiples of the tile, so that
nothing but the step is in a kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import triptych as tt
from triptych import cute, pipeline
from triptych.cute.nvgpu import CopyUniversalOp, OperandMajorMode, cpasync, warp, warpgroup
from triptych.cute.runtime import from_dlpack
from triptych.utils import LayoutEnum, hopper_helpers

WARP, WARPGROUP, GROUP_ROWS = 32, 128, 64


# what the steps share -------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Tiling:
    """The tile of a block, and how many of them are in shared memory."""

    m: int = 64
    n: int = 128
    k: int = 64
    stages: int = 4

    @property
    def layouts(self) -> Any:
        """How the stages of x and of w lie in shared memory: swizzled, for TMA and every product."""
        makers = hopper_helpers.make_smem_layout_a, hopper_helpers.make_smem_layout_b
        return [make(LayoutEnum.ROW_MAJOR, (self.m, self.n, self.k), tt.Float16, self.stages) for make in makers]

    @property
    def bytes(self) -> int:
        """What the copies of one stage bring."""
        return (self.m + self.n) * self.k * 2

    @property
    def threads(self) -> int:
        """Threads that multiply: a warpgroup for every 64 rows."""
        return self.m // GROUP_ROWS * WARPGROUP


def buffers(tiling: Tiling) -> Any:
    """Stages of x and of w in shared memory, and an allocator for more."""
    smem = cute.SmemAllocator()
    return *(smem.allocate_tensor(tt.Float16, layout.outer, 1024, layout.inner) for layout in tiling.layouts), smem


def tiles_of(x: cute.Tensor, w: cute.Tensor, tiling: Tiling) -> Any:
    """The tiles along k that this block multiplies."""
    row, column, _ = cute.arch.block_idx()
    return (
        cute.local_tile(x, (tiling.m, tiling.k), (row, None)),
        cute.local_tile(w, (tiling.n, tiling.k), (column, None)),
    )


@dataclass(frozen=True)
class Boxes:
    """Copies by TMA from the tiles of x and w to stages; a mask for tiles that several blocks get."""

    atoms: Any
    sources: Any
    targets: Any
    masks: Any

    @property
    def count(self) -> Any:
        return cute.size(self.sources[0], mode=[1])

    def load(self, k: Any, stage: Any, barrier: Any) -> None:
        for atom, source, target, mask in zip(self.atoms, self.sources, self.targets, self.masks, strict=True):
            cute.copy(atom, source[None, k], target[None, stage], tma_bar_ptr=barrier, **mask)


def tma_copies(loads: Any, matrices: Any, shared: Any, tiling: Tiling, ranks: Any = ((0, 1), (0, 1))) -> Boxes:
    """`ranks`: of each operand the place of this block among those that share its tile, and their number."""
    parts = [
        cpasync.tma_partition(load, rank, cute.make_layout(n), cute.group_modes(to, 0, 2), cute.group_modes(tile, 0, 2))
        for load, tile, to, (rank, n) in zip(
            loads, tiles_of(matrices[0], matrices[1], tiling), shared, ranks, strict=True
        )
    ]
    masks = [{"mcast_mask": 2**n - 1} if n > 1 else {} for _, n in ranks]
    return Boxes(loads, [source for _, source in parts], [target for target, _ in parts], masks)


def tile_pipeline(smem: Any, tiling: Tiling, releasing: int, **more: Any) -> Any:
    """The two ends of a multi-stage pipeline that TMA fills and `releasing` threads release."""
    pipe = pipeline.PipelineTmaAsync.create(
        num_stages=tiling.stages,
        producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread),
        consumer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, releasing // WARP),
        tx_count=tiling.bytes,
        barrier_storage=smem.allocate_array(tt.Int64, 2 * tiling.stages),
        **more,
    )
    return pipe.make_participants()


@dataclass(frozen=True)
class WarpProduct:
    """The sums of a thread by the matrix instructions of warps: `ldmatrix` brings factors to registers."""

    mma: cute.TiledMma
    loads: Any
    parts: Any
    factors: Any
    sums: cute.Tensor

    def add(self, stage: Any) -> None:
        """Add the product of the tiles in a stage."""
        for k in tt.range_constexpr(cute.size(self.factors[0], mode=[2])):
            for load, part, factor in zip(self.loads, self.parts, self.factors, strict=True):
                cute.copy(load, part[None, None, k, stage], load.retile(factor)[None, None, k])
            a, b = (factor[None, None, k] for factor in self.factors)
            cute.gemm(self.mma, self.sums, a, b, self.sums)


def warp_product(mma: cute.TiledMma, shared: Any, tiling: Tiling) -> WarpProduct:
    thread, _, _ = cute.arch.thread_idx()
    mine, matrices = mma.get_slice(thread), cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), tt.Float16)
    loads = cute.make_tiled_copy_A(matrices, mma), cute.make_tiled_copy_B(matrices, mma)
    parts = [load.get_slice(thread).partition_S(tile) for load, tile in zip(loads, shared, strict=True)]
    a = mma.make_fragment_A(mine.partition_A(shared[0])[None, None, None, 0])
    b = mma.make_fragment_B(mine.partition_B(shared[1])[None, None, None, 0])
    sums = mma.make_fragment_C(mine.partition_shape_C((tiling.m, tiling.n)))
    sums.fill(0.0)
    return WarpProduct(mma, loads, parts, (a, b), sums)


def store(sums: cute.Tensor, y: cute.Tensor, mma: cute.TiledMma, tiling: Tiling) -> None:
    """Write the tile of this block, each thread its sums."""
    thread, _, _ = cute.arch.thread_idx()
    row, column, _ = cute.arch.block_idx()
    tile = cute.local_tile(y, (tiling.m, tiling.n), (row, column))
    cute.autovec_copy(sums, mma.get_slice(thread).partition_C(tile))


# the steps ------------------------------------------------------------------------------------------------------
@tt.kernel
def plain_copies(
    x: cute.Tensor, w: cute.Tensor, y: cute.Tensor, mma: cute.TiledMma, tiling: tt.Constexpr[Tiling]
) -> None:
    thread, _, _ = cute.arch.thread_idx()
    tile_x, tile_w, _ = buffers(tiling)
    product = warp_product(mma, (tile_x, tile_w), tiling)
    atom = cute.make_copy_atom(CopyUniversalOp(), tt.Float16, num_bits_per_copy=128)
    across = tiling.k // 8
    lie = cute.make_layout((WARPGROUP // across, across), stride=(across, 1))
    vectors = cute.make_tiled_copy_tv(atom, lie, cute.make_layout((1, 8)))
    mine = vectors.get_slice(thread)
    from_x, from_w = [mine.partition_S(tiles) for tiles in tiles_of(x, w, tiling)]
    to_x, to_w = mine.partition_D(tile_x), mine.partition_D(tile_w)
    for k in range(cute.size(from_x, mode=[3])):
        cute.copy(vectors, from_x[None, None, None, k], to_x[None, None, None, 0])
        cute.copy(vectors, from_w[None, None, None, k], to_w[None, None, None, 0])
        cute.arch.sync_threads()  # the tiles are there
        product.add(0)
        cute.arch.sync_threads()  # nobody reads them any more
    store(product.sums, y, mma, tiling)


@tt.kernel
def boxes(loads: Any, matrices: Any, y: cute.Tensor, mma: cute.TiledMma, tiling: tt.Constexpr[Tiling]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    *shared, smem = buffers(tiling)
    copies = tma_copies(loads, matrices, shared, tiling)
    product = warp_product(mma, shared, tiling)
    full = smem.allocate_array(tt.Int64, 1)
    if thread == 0:
        cute.arch.mbarrier_init(full, 1)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    for k in range(copies.count):
        if thread < WARP:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(full, tiling.bytes)
            copies.load(k, 0, full)
        cute.arch.mbarrier_wait(full, k % 2)  # all bytes are there
        product.add(0)
        cute.arch.sync_threads()  # nobody reads them any more
    store(product.sums, y, mma, tiling)


@tt.kernel
def stages(loads: Any, matrices: Any, y: cute.Tensor, mma: cute.TiledMma, tiling: tt.Constexpr[Tiling]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    *shared, smem = buffers(tiling)
    copies = tma_copies(loads, matrices, shared, tiling)
    product = warp_product(mma, shared, tiling)
    producer, consumer = tile_pipeline(smem, tiling, WARPGROUP)
    ahead = tiling.stages - 1
    if thread < WARP:
        for _ in range(min(ahead, copies.count)):
            empty = producer.acquire_and_advance()
            copies.load(empty.count, empty.index, empty.barrier)
    for k in range(copies.count):
        if thread < WARP and k + ahead < copies.count:
            empty = producer.acquire_and_advance()
            copies.load(empty.count, empty.index, empty.barrier)
        full = consumer.wait_and_advance()
        product.add(full.index)
        full.release()
    store(product.sums, y, mma, tiling)


@tt.kernel
def specialised(loads: Any, matrices: Any, y: cute.Tensor, mma: cute.TiledMma, tiling: tt.Constexpr[Tiling]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    *shared, smem = buffers(tiling)
    copies = tma_copies(loads, matrices, shared, tiling)
    producer, consumer = tile_pipeline(smem, tiling, WARPGROUP)
    if thread >= WARPGROUP:  # the fifth warp
        for _ in range(copies.count):
            empty = producer.acquire_and_advance()
            copies.load(empty.count, empty.index, empty.barrier)
        producer.tail()
    else:
        product = warp_product(mma, shared, tiling)
        for _ in range(copies.count):
            full = consumer.wait_and_advance()
            product.add(full.index)
            full.release()
        store(product.sums, y, mma, tiling)


@tt.kernel
def warpgroups(
    loads: Any,
    matrices: Any,
    y: cute.Tensor,
    mma: cute.TiledMma,
    tiling: tt.Constexpr[Tiling],
    blocks: tt.Constexpr[int],
) -> None:
    """Two `blocks` are a cluster along m: each loads half of the tile of w that both multiply by."""
    thread, _, _ = cute.arch.thread_idx()
    *shared, smem = buffers(tiling)
    rank = cute.arch.make_warp_uniform(cute.arch.block_idx_in_cluster()) if tt.const_expr(blocks > 1) else 0
    copies = tma_copies(loads, matrices, shared, tiling, ((0, 1), (rank, blocks)))
    cluster = cute.make_layout((1, blocks, 1, 1))
    producer, consumer = tile_pipeline(smem, tiling, blocks * tiling.threads, cta_layout_vmnk=cluster)
    if thread >= tiling.threads:
        for _ in range(copies.count):
            empty = producer.acquire_and_advance()
            copies.load(empty.count, empty.index, empty.barrier)
        producer.tail()
    else:
        part = mma.get_slice(cute.arch.make_warp_uniform(thread // WARPGROUP) * WARPGROUP)
        a, b = mma.make_fragment_A(part.partition_A(shared[0])), mma.make_fragment_B(part.partition_B(shared[1]))
        sums = mma.make_fragment_C(part.partition_shape_C((tiling.m, tiling.n)))
        mma.set(warpgroup.Field.ACCUMULATE, False)
        for _ in range(copies.count):
            full = consumer.wait_and_advance()
            warpgroup.fence()
            for k in tt.range_constexpr(cute.size(a, mode=[2])):
                cute.gemm(mma, sums, a[None, None, k, full.index], b[None, None, k, full.index], sums)
                mma.set(warpgroup.Field.ACCUMULATE, True)
            warpgroup.commit_group()
            warpgroup.wait_group(0)
            full.release()
        store(sums, y, mma, tiling)


# the host -------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Step:
    """A kernel and how it is launched."""

    kernel: Any
    extra_threads: int = WARP
    groups: int = 0
    """Warpgroups of a product; none: it is one of warps."""
    blocks: int = 1
    stages: int = 4

    def tiling(self, n: int, k: int) -> Tiling:
        return Tiling(GROUP_ROWS * max(self.groups, 1), n, k, self.stages)


STEPS = {
    "plain copies": Step(plain_copies, extra_threads=0, stages=1),
    "TMA": Step(boxes, extra_threads=0, stages=1),
    "multi-stage pipeline": Step(stages, extra_threads=0),
    "warp specialisation": Step(specialised),
    "WGMMA": Step(warpgroups, groups=1),
    "two warpgroups": Step(warpgroups, groups=2),
    "cluster 2x1": Step(warpgroups, groups=2, blocks=2),
}


def load_of(matrix: cute.Tensor, layout: Any, tile: tuple[int, int], blocks: int) -> Any:
    """The atom that loads a tile for one block or several, and the coordinates of the matrix."""
    op: Any = cpasync.CopyBulkTensorTileG2SMulticastOp() if blocks > 1 else cpasync.CopyBulkTensorTileG2SOp()
    return cpasync.make_tiled_tma_atom(op, matrix, cute.slice_(layout, (None, None, 0)), tile, num_multicast=blocks)


def mma_of(groups: int, n: int) -> cute.TiledMma:
    if groups == 0:
        op = warp.MmaF16BF16Op(tt.Float16, tt.Float32, (16, 8, 16))
        return cute.make_tiled_mma(op, (2, 2, 1), (32, 32, 16))
    f16, k = tt.Float16, OperandMajorMode.K
    return hopper_helpers.make_trivial_tiled_mma(f16, f16, k, k, tt.Float32, (groups, 1, 1), (GROUP_ROWS, n))


@tt.jit
def gemm(
    x: cute.Tensor,
    w: cute.Tensor,
    y: cute.Tensor,
    name: tt.Constexpr[str],
    n: tt.Constexpr[int] = 128,
    k: tt.Constexpr[int] = 64,
) -> None:
    """y = x wᵀ of row-major matrices (m, k), (n, k) and (m, n), by one of `STEPS`, in tiles of n and k."""
    step = STEPS[name]
    tiling = step.tiling(n, k)
    factors: Any = x, w
    if tt.const_expr(name != "plain copies"):
        atom_x, rows_x = load_of(x, tiling.layouts[0], (tiling.m, k), 1)
        atom_w, rows_w = load_of(w, tiling.layouts[1], (n, k), step.blocks)
        factors = (atom_x, atom_w), (rows_x, rows_w)
    last = (step.blocks,) if step.groups else ()
    step.kernel(*factors, y, mma_of(step.groups, n), tiling, *last).launch(
        grid=cute.ceil_div(y.shape, (tiling.m, n)),
        block=tiling.threads + step.extra_threads,
        cluster=(step.blocks, 1, 1),
    )


def operand_of(array: np.ndarray) -> Any:
    """An array of any extents, whose rows are multiples of 16 bytes."""
    tensor = from_dlpack(array, assumed_align=16)
    return tensor.mark_compact_shape_dynamic(0, (0, 1)).mark_compact_shape_dynamic(1, (0, 1), divisibility=8)


def small_integers(rows: int, columns: int, seed: int) -> np.ndarray:
    """Factors whose sums of products have no roundings."""
    return np.random.default_rng(seed).integers(-4, 5, (rows, columns)).astype(np.float16)
