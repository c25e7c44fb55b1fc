"""GEMM epilogues of SM100: sums of tensor memory go through registers to global memory, by TMA or by threads.

Names of sizes: T2R is what a thread loads of tensor memory at once, R2S what it stores to shared memory, EPI counts the
tiles of the epilogue.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from triptych import cute, pipeline
from triptych.compat.utils import blackwell_helpers
from triptych.cute.nvgpu import cpasync, tcgen05
from triptych.cute.tensors.layout_orders import LayoutEnum
from triptych.driver.jitting import jit
from triptych.layout.layout import from_modes
from triptych.metastage.values.binding_time import Constexpr, Range, const_expr, range_constexpr
from triptych.metastage.values.scalars import Int32, Numeric

__all__ = [
    "epilogue",
    "epilogue_smem_copy_and_partition",
    "epilogue_tma_store",
    "epilogue_tmem_copy_and_partition",
    "transform_partitioned_tensor_layout",
]

Coordinate = tuple[Int32, Int32, Int32]


def __dir__() -> list[str]:
    return __all__


class Results(Protocol):
    """The types of sums and results, and how results lie."""

    @property
    def c_dtype(self) -> type[Numeric]: ...
    @property
    def c_layout(self) -> LayoutEnum: ...
    @property
    def acc_dtype(self) -> type[Numeric]: ...


class TiledResults(Results, Protocol):
    """And the tile of a CTA."""

    @property
    def cta_tile_shape_mnk(self) -> tuple[int, int, int]: ...


class GemmKernel(TiledResults, Protocol):
    """What a kernel class says of itself; the last are for stores by TMA, and for stages of sums that overlap."""

    use_2cta_instrs: bool
    num_c_stage: int
    epilogue_warp_id: Sequence[int]
    epilog_sync_bar_id: int
    iter_acc_early_release_in_epilogue: int


def transform_partitioned_tensor_layout(tensor: cute.Tensor) -> cute.Tensor:
    """((atom m, atom n), m, n, rest ...) as ((atom m, m), (atom n, n), rest ...)."""
    layout = tensor.layout
    atom_m, atom_n = layout[0][0], layout[0][1]
    joined = [from_modes((atom_m, layout[1])), from_modes((atom_n, layout[2]))]
    rest = [layout[mode] for mode in range(3, len(layout))]
    return cute.make_tensor(tensor.iterator, from_modes((*joined, *rest)))


def epilogue_tmem_copy_and_partition(
    gemm_kernel: TiledResults,
    tidx: Int32,
    tAcc: cute.Tensor,
    gC_mnl: cute.Tensor,
    epi_tile: cute.Tile,
    use_2cta_instrs: bool,
) -> tuple[cute.TiledCopy, cute.Tensor, cute.Tensor]:
    """The copy out of tensor memory, the sums as it takes them (T2R, m, n, EPI m, EPI n, stage), and registers."""
    atom = blackwell_helpers.get_tmem_load_op(
        gemm_kernel.cta_tile_shape_mnk,
        gemm_kernel.c_layout,
        gemm_kernel.c_dtype,
        gemm_kernel.acc_dtype,
        epi_tile,
        use_2cta_instrs,
    )
    sums = cute.flat_divide(tAcc, epi_tile)
    load = tcgen05.make_tmem_copy(atom, sums[None, None, 0, 0, 0])
    mine = load.get_slice(tidx)
    part = mine.partition_D(cute.flat_divide(gC_mnl, epi_tile))
    held = cute.make_rmem_tensor(part[None, None, None, 0, 0, 0, 0, 0].shape, gemm_kernel.acc_dtype)
    return load, mine.partition_S(sums), held


def epilogue_smem_copy_and_partition(
    gemm_kernel: Results, tiled_copy_t2r: cute.TiledCopy, tTR_rC: cute.Tensor, tidx: Int32, sC: cute.Tensor
) -> tuple[cute.TiledCopy, cute.Tensor, cute.Tensor]:
    """The copy of results to shared memory, the registers as it takes them, and where it stores (R2S, m, n, stage)."""
    atom = blackwell_helpers.get_smem_store_op(
        gemm_kernel.c_layout, gemm_kernel.c_dtype, gemm_kernel.acc_dtype, tiled_copy_t2r
    )
    store = cute.make_tiled_copy_D(atom, tiled_copy_t2r)
    return store, store.retile(tTR_rC), store.get_slice(tidx).partition_D(sC)


def _loads(
    gemm_kernel: GemmKernel, tidx: Int32, tCtAcc: cute.Tensor, results: cute.Tensor, epi_tile: cute.Tile
) -> tuple[cute.TiledCopy, cute.Tensor, cute.Tensor]:
    sums = transform_partitioned_tensor_layout(tCtAcc)
    return epilogue_tmem_copy_and_partition(gemm_kernel, tidx, sums, results, epi_tile, gemm_kernel.use_2cta_instrs)


def _tiles(part: cute.Tensor) -> cute.Tensor:
    """(T2R, m, n, EPI m, EPI n) as (T2R, m, n, EPI)."""
    return cute.group_modes(part, 3, cute.rank(part))


@jit
def epilogue_tma_store(
    gemm_kernel: Constexpr[GemmKernel],
    epi_tidx: Int32,
    warp_idx: Int32,
    tma_atom_c: cute.CopyAtom,
    tCtAcc_base: cute.Tensor,
    sC: cute.Tensor,
    tCgC_base: cute.Tensor,
    epi_tile: Constexpr[Any],
    num_tiles_executed: Int32,
    epilogue_op: Constexpr[Callable[..., Any]],
    mma_tile_coord_mnl: Coordinate,
    acc_consumer_state: pipeline.PipelineState,
    acc_pipeline: pipeline.PipelineAsync,
    c_pipeline: pipeline.PipelineTmaStore,
) -> pipeline.PipelineState:
    """Store a tile by way of shared memory, where one warp starts TMA stores; gives the state of the next tile."""
    results = transform_partitioned_tensor_layout(tCgC_base)
    load, sums, held = _loads(gemm_kernel, epi_tidx, tCtAcc_base, results, epi_tile)
    converted = cute.make_rmem_tensor(held.shape, gemm_kernel.c_dtype)
    store, registers, shared = epilogue_smem_copy_and_partition(gemm_kernel, load, converted, epi_tidx, sC)
    tile = cute.group_modes(cute.flat_divide(results, epi_tile), 0, 2)
    from_shared, to_global = cpasync.tma_partition(tma_atom_c, 0, cute.make_layout(1), cute.group_modes(sC, 0, 2), tile)
    warps = gemm_kernel.epilogue_warp_id
    barrier = pipeline.NamedBarrier(barrier_id=gemm_kernel.epilog_sync_bar_id, num_threads=32 * len(warps))
    to_global = to_global[(None, None, None, *mma_tile_coord_mnl)]
    to_global = cute.group_modes(to_global, 1, cute.rank(to_global))
    acc_pipeline.consumer_wait(acc_consumer_state)
    sums = _tiles(sums[None, None, None, None, None, acc_consumer_state.index])
    count = cute.size(sums.shape, mode=[3])
    for number in Range(count):
        cute.copy(load, sums[None, None, None, number], held)
        registers.store(epilogue_op(store.retile(held).load().to(gemm_kernel.c_dtype)))
        stage = (num_tiles_executed * count + number) % gemm_kernel.num_c_stage
        cute.copy(store, registers, shared[None, None, None, stage])
        cute.arch.fence_view_async_shared()
        barrier.arrive_and_wait()
        if warp_idx == warps[0]:
            cute.copy(tma_atom_c, from_shared[None, stage], to_global[None, number])
            c_pipeline.producer_commit()
            c_pipeline.producer_acquire()
        barrier.arrive_and_wait()
    with cute.arch.elect_one():
        acc_pipeline.consumer_release(acc_consumer_state)
    acc_consumer_state.advance()
    return acc_consumer_state


@jit
def epilogue(
    gemm_kernel: Constexpr[GemmKernel],
    epi_tidx: Int32,
    tCtAcc_base: cute.Tensor,
    tCgC_base: cute.Tensor,
    epi_tile: Constexpr[Any],
    epilogue_op: Constexpr[Callable[..., Any]],
    mma_tile_coord_mnl: Coordinate,
    acc_consumer_state: pipeline.PipelineState,
    acc_pipeline: pipeline.PipelineAsync,
    tCcC_base: cute.Tensor | None = None,
    mC_mnl: cute.Tensor | None = None,
    overlapping_accum: Constexpr[bool] = False,
) -> pipeline.PipelineState:
    """Store a tile by each thread's own stores; gives the state of the next tile.

    With coordinates `tCcC_base` in `mC_mnl`, what is beyond its shape is not stored. Where two stages of sums overlap,
    the last columns of the first one are the first ones of the second: they are read first, and then released.
    """
    results = transform_partitioned_tensor_layout(tCgC_base)
    load, sums, held = _loads(gemm_kernel, epi_tidx, tCtAcc_base, results, epi_tile)
    to_global = _stored(load, epi_tidx, results, epi_tile, mma_tile_coord_mnl)
    coordinates = results if tCcC_base is None else transform_partitioned_tensor_layout(tCcC_base)
    places = _stored(load, epi_tidx, coordinates, epi_tile, mma_tile_coord_mnl)
    converted = cute.make_rmem_tensor(held.shape, gemm_kernel.c_dtype)
    store = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), gemm_kernel.c_dtype)
    acc_pipeline.consumer_wait(acc_consumer_state)
    stage = acc_consumer_state.phase if overlapping_accum else acc_consumer_state.index
    sums = _tiles(sums[None, None, None, None, None, stage])
    count = cute.size(sums.shape, mode=[3])
    for number in Range(count):
        tile = number
        if const_expr(overlapping_accum):
            tile = count - 1 - number if stage == 0 else number
        cute.copy(load, sums[None, None, None, tile], held)
        if const_expr(overlapping_accum):
            _release_early(gemm_kernel, number, acc_pipeline, acc_consumer_state)
        converted.store(epilogue_op(held.load().to(gemm_kernel.c_dtype)))
        target = to_global[None, None, None, tile]
        if const_expr(tCcC_base is None):
            cute.copy(store, converted, target)
        else:
            _store_inside(store, converted, target, places[None, None, None, tile], mC_mnl)
    if const_expr(not overlapping_accum):
        with cute.arch.elect_one():
            acc_pipeline.consumer_release(acc_consumer_state)
    acc_consumer_state.advance()
    return acc_consumer_state


@jit
def _release_early(
    gemm_kernel: Constexpr[GemmKernel],
    number: Int32,
    acc_pipeline: pipeline.PipelineAsync,
    acc_consumer_state: pipeline.PipelineState,
) -> None:
    """Once the columns have been read that the next stage of sums shares with this one."""
    if number == gemm_kernel.iter_acc_early_release_in_epilogue:
        cute.arch.fence_view_async_tmem_load()
        with cute.arch.elect_one():
            acc_pipeline.consumer_release(acc_consumer_state)


def _stored(
    load: cute.TiledCopy, tidx: Int32, whole: cute.Tensor, epi_tile: cute.Tile, coordinate: Coordinate
) -> cute.Tensor:
    """What a thread stores of a tile of results, as (T2R, m, n, EPI)."""
    part = load.get_slice(tidx).partition_D(cute.flat_divide(whole, epi_tile))
    return _tiles(part[(None, None, None, None, None, *coordinate)])


@jit
def _store_inside(
    store: cute.CopyAtom, registers: cute.Tensor, target: cute.Tensor, places: cute.Tensor, whole: cute.Tensor
) -> None:
    """All of it where the last place is inside, else each number whose place is."""
    count = cute.size(registers)
    if cute.elem_less(places[count - 1], whole.shape):
        cute.copy(store, registers, target)
    else:
        for i in range_constexpr(count):
            if cute.elem_less(places[i], whole.shape):
                target[i] = registers[i]
