"""Mixed-input GEMM helpers: A comes narrow by TMA, four warps transform it to B's type, and UMMA multiplies that.

Transformed A lies in tensor memory where it is contiguous along K, else in shared memory. A may have a scale for each
row and `scale_granularity_k` elements along K: layouts of scales have stride 0 along what shares one.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, TypeVar

from triptych import cute
from triptych.compat.utils import blackwell_helpers
from triptych.compat.utils.contiguous_groups import (
    contiguous_group_search,
    create_initial_contiguous_group_search_state,
    make_contiguous_group_work_tile_info,
)
from triptych.compat.utils.mixed_input_rules import (
    SHUFFLE,
    Shape3,
    get_divisibility,
    is_shuffle_a,
    is_valid_mma_tiler_and_cluster_shape,
    is_valid_scale_granularity,
    is_valid_tensor_alignment,
)
from triptych.cute.nvgpu import cpasync, tcgen05
from triptych.cute.nvgpu.cta_groups import CtaGroup
from triptych.cute.tensors.layout_orders import LayoutEnum, OperandMajorMode
from triptych.kernel_ir.dialects.tensor_memory import LANES
from triptych.layout import IntTuple
from triptych.layout.swizzle import Swizzle
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.scalars import Int32, Numeric
from triptych.support.dataclass import dataclass
from triptych.utils.gemm import sm100

__all__ = [
    "TransformMode",
    "compute_smem_layout",
    "contiguous_group_search",
    "create_initial_contiguous_group_search_state",
    "cvt_tensor_a",
    "epilog_gmem_copy_and_partition",
    "epilog_smem_copy_and_partition",
    "epilog_tmem_copy_and_partition",
    "get_copy_atom_a_transform",
    "get_divisibility",
    "get_gmem_layout_scale",
    "get_smem_layout_scale",
    "get_tma_atom_kind",
    "get_transform_a_source",
    "is_shuffle_a",
    "is_valid_mma_tiler_and_cluster_shape",
    "is_valid_scale_granularity",
    "is_valid_tensor_alignment",
    "make_contiguous_group_work_tile_info",
    "scale_partition",
    "scale_tma_partition",
    "store_transformed_a",
    "transform_partition",
]

T = TypeVar("T")
_THREADS = 128
"""Those of the four warps that transform A."""
_STORE_BITS = 128
"""What a thread stores to shared memory at once."""


def __dir__() -> list[str]:
    return __all__


class TransformMode(enum.Enum):
    """What becomes of A before the product."""

    ConvertOnly = "convert"
    ConvertScale = "convert and scale"


# where things lie ---------------------------------------------------------------------------------------------------
def get_transform_a_source(a_major_mode: OperandMajorMode) -> tcgen05.OperandSource:
    """Where transformed A lies: UMMA reads only an A along K from tensor memory."""
    is_along_k = a_major_mode is OperandMajorMode.K
    return tcgen05.OperandSource.TMEM if is_along_k else tcgen05.OperandSource.SMEM


def get_tma_atom_kind(mcast: bool, use_2cta_instrs: bool, is_b: bool) -> Any:
    """How A or B is loaded: each CTA waits for its own A, which it transforms; a pair's leader waits for all of B."""
    group = CtaGroup.TWO if use_2cta_instrs and is_b else CtaGroup.ONE
    return cpasync.CopyBulkTensorTileG2SMulticastOp(group) if mcast else cpasync.CopyBulkTensorTileG2SOp(group)


def compute_smem_layout(
    tiled_mma: cute.TiledMma,
    mma_tiler_mnk: Shape3,
    a_dtype: type[Numeric],
    b_dtype: type[Numeric],
    num_load2trans_stage: int,
    num_trans2mma_stage: int,
) -> tuple[cute.ComposedLayout, cute.ComposedLayout, cute.ComposedLayout]:
    """The layouts of A as it is loaded, of transformed A, and of B; A and B come in as many stages."""
    make_a, make_b = blackwell_helpers.make_smem_layout_a, blackwell_helpers.make_smem_layout_b
    return (
        make_a(tiled_mma, mma_tiler_mnk, a_dtype, num_load2trans_stage),
        make_a(tiled_mma, mma_tiler_mnk, b_dtype, num_trans2mma_stage),
        make_b(tiled_mma, mma_tiler_mnk, b_dtype, num_load2trans_stage),
    )


# scales -------------------------------------------------------------------------------------------------------------
def get_gmem_layout_scale(
    scale_shape_mkl: tuple[Any, Any, Any],
    scale_granularity_m: int,
    scale_granularity_k: int,
    scale_major_mode: OperandMajorMode,
) -> cute.Layout:
    """The scale of each element of A (M, K, L), whose shape is given: ((shared, M), (shared, K), L)."""
    m, k, layers = scale_shape_mkl
    rows, columns = cute.ceil_div(m, scale_granularity_m), cute.ceil_div(k, scale_granularity_k)
    row, column = (1, rows) if scale_major_mode is OperandMajorMode.MN else (columns, 1)
    return cute.make_layout(
        ((scale_granularity_m, rows), (scale_granularity_k, columns), layers),
        stride=((0, row), (0, column), rows * columns),
    )


def get_smem_layout_scale(
    mma_tiler_mnk: Shape3,
    use_2cta_instrs: bool,
    scale_granularity_m: int,
    scale_granularity_k: int,
    scale_major_mode: OperandMajorMode,
    scale_dtype: type[Numeric],
    num_scale_stage: int,
) -> tuple[tuple[int, int], cute.ComposedLayout, cute.ComposedLayout]:
    """The tile (M, K) that has the scales of a load, and their layouts (M, K) and (M, K, stages) in shared memory.

    M is that of the whole CTA group: its CTAs have their rows at the same place, each in its own memory.
    """
    rows, _, depth = mma_tiler_mnk
    ctas = 2 if use_2cta_instrs else 1
    in_m, in_k = min(scale_granularity_m, rows // ctas), min(scale_granularity_k, depth)
    if rows // ctas % in_m or depth % in_k:
        raise OperandTypeError(
            "a tile of A has no whole blocks of scales",
            span=place(),
            found=f"{scale_granularity_m} x {scale_granularity_k} elements with a scale of {scale_dtype.__name__}, "
            f"{rows // ctas} x {depth} elements in a tile",
            expected="granularities that divide the tile, or that the tile divides",
        )
    down, right = rows // ctas // in_m, depth // in_k
    row, column = (1, down) if scale_major_mode is OperandMajorMode.MN else (right, 1)
    shape, stride = ((in_m, (down, ctas)), (in_k, right)), ((0, (row, 0)), (0, column))
    one = cute.make_layout(shape, stride=stride)
    staged = cute.make_layout((*shape, num_scale_stage), stride=(*stride, down * right))
    return (rows, depth), _unswizzled(one), _unswizzled(staged)


def _unswizzled(layout: cute.Layout) -> cute.ComposedLayout:
    return cute.make_composed_layout(Swizzle(0, 4, 3), 0, layout)


def scale_tma_partition(
    tCsS: cute.Tensor,
    tCgS: cute.Tensor,
    tma_atom_s: cute.CopyAtom,
    block_in_cluster_coord_vmnk: Sequence[Int32 | int],
    scale_cta_layout: cute.Layout,
) -> tuple[cute.Tensor, cute.Tensor]:
    """Scales as TMA loads them, in shared memory (TMA, stage) and global memory (TMA, tile m, tile k, l)."""
    return cpasync.tma_partition(
        tma_atom_s,
        block_in_cluster_coord_vmnk[2],
        scale_cta_layout,
        cute.group_modes(tCsS, 0, 3),
        cute.group_modes(tCgS, 0, 3),
    )


def scale_partition(
    src_copy_a: cute.TiledCopy, tCsS: cute.Tensor, transform_local_tidx: Int32, mma_dtype: type[Numeric]
) -> tuple[Any, cute.Tensor, cute.Tensor, cute.Tensor]:
    """A thread's copy, the scales that it reads, and registers for them: each once, and one for each element of A."""
    copy = src_copy_a.get_slice(transform_local_tidx)
    shared = copy.partition_S(tCsS)
    for_each = cute.make_rmem_tensor_like(shared[None, None, None, None, 0], mma_dtype)
    once = cute.make_tensor(for_each.iterator, cute.filter_zeros(for_each.layout))
    return copy, shared, once, for_each


# the transformation -------------------------------------------------------------------------------------------------
def get_copy_atom_a_transform(
    mma_dtype: type[Numeric],
    use_2cta_instrs: bool,
    transform_a_source: tcgen05.OperandSource,
    a_smem_shape: IntTuple,
    a_dtype: type[Numeric],
) -> cute.CopyAtom:
    """How a thread stores transformed A: 16 elements of K to tensor memory, or 16 bytes to shared memory."""
    if transform_a_source is tcgen05.OperandSource.TMEM:
        if cute.size(a_smem_shape, mode=[0, 0]) == LANES // 2:  # 16 lanes for each warp
            return cute.make_copy_atom(tcgen05.St16x256bOp(tcgen05.Repetition.x1), mma_dtype)
        return cute.make_copy_atom(tcgen05.St32x32bOp(tcgen05.Repetition.x8), mma_dtype)
    return cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), mma_dtype, num_bits_per_copy=_STORE_BITS)


def transform_partition(
    transform_a_source: tcgen05.OperandSource,
    scale_mode: TransformMode,
    copy_atom_a_input: cute.CopyAtom | None,
    copy_atom_a_transform: cute.CopyAtom,
    sA_input: cute.Tensor,
    A_transform: cute.Tensor,
    transform_local_tidx: Int32,
) -> tuple[cute.TiledCopy | None, cute.TiledCopy, cute.Tensor, cute.Tensor]:
    """The copies that read A (where it is scaled) and store it transformed, and both A as a thread takes them."""
    whole = A_transform[None, None, None, 0]
    if transform_a_source is tcgen05.OperandSource.TMEM:
        store = tcgen05.make_tmem_copy(copy_atom_a_transform, whole)
    else:
        together = _STORE_BITS // A_transform.element_type.width
        rows = cute.make_layout((_THREADS, together), stride=(together, 1))
        store = cute.make_cotiled_copy(copy_atom_a_transform, rows, whole.layout)
    load = None
    if scale_mode is TransformMode.ConvertScale:
        load = cute.make_tiled_copy_S(_given("copy_atom_a_input", copy_atom_a_input), store)
    mine = store.get_slice(transform_local_tidx)
    return load, store, mine.partition_S(sA_input), mine.partition_D(A_transform)


def cvt_tensor_a(src: cute.Tensor, mma_dtype: type[Numeric], shuffle_a: bool = False) -> cute.TensorSSA:
    """Numbers of A in the product's type; of shuffled A (`is_shuffle_a`) in the order of K."""
    if not shuffle_a:
        return src.load().to(mma_dtype)
    group = len(SHUFFLE)
    ordered = cute.make_rmem_tensor(src.shape, src.element_type)
    for number in range(cute.size(src)):
        ordered[number] = src[number // group * group + SHUFFLE[number % group]]
    return ordered.load().to(mma_dtype)


def store_transformed_a(tArA_transform: cute.Tensor, tAsA_transform: cute.Tensor, dst_copy_a: cute.TiledCopy) -> None:
    """Store what a thread has transformed."""
    cute.copy(dst_copy_a, tArA_transform, tAsA_transform)


# epilogues ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Results:
    c_layout: LayoutEnum
    c_dtype: type[Numeric]
    acc_dtype: type[Numeric]


@dataclass(frozen=True, slots=True)
class _TiledResults(_Results):
    cta_tile_shape_mnk: Shape3


def epilog_tmem_copy_and_partition(
    cta_tile_shape_mnk: Shape3,
    c_layout: LayoutEnum,
    c_dtype: type[Numeric],
    acc_dtype: type[Numeric],
    tidx: Int32,
    tAcc: cute.Tensor,
    gC_mnl: cute.Tensor,
    epi_tile: cute.Tile,
    use_2cta_instrs: bool,
) -> tuple[cute.TiledCopy, cute.Tensor, cute.Tensor]:
    """The copy out of tensor memory, the sums as it takes them (T2R, m, n, EPI m, EPI n, stage), and registers."""
    kernel = _TiledResults(c_layout, c_dtype, acc_dtype, cta_tile_shape_mnk)
    sums, results = map(sm100.transform_partitioned_tensor_layout, (tAcc, gC_mnl))
    return sm100.epilogue_tmem_copy_and_partition(kernel, tidx, sums, results, epi_tile, use_2cta_instrs)


def epilog_smem_copy_and_partition(
    c_layout: LayoutEnum,
    c_dtype: type[Numeric],
    acc_dtype: type[Numeric],
    tiled_copy_t2r: cute.TiledCopy,
    tTR_rC: cute.Tensor,
    tidx: Int32,
    sC: cute.Tensor,
) -> tuple[cute.TiledCopy, cute.Tensor, cute.Tensor]:
    """The copy of results to shared memory, the registers as it takes them, and where it stores (R2S, m, n, stage)."""
    kernel = _Results(c_layout, c_dtype, acc_dtype)
    return sm100.epilogue_smem_copy_and_partition(kernel, tiled_copy_t2r, tTR_rC, tidx, sC)


def epilog_gmem_copy_and_partition(
    c_dtype: type[Numeric],
    tidx: Int32,
    tma_atom_c: cute.CopyAtom | None,
    tiled_copy_t2r: cute.TiledCopy | None,
    gC_mnl_tma: cute.Tensor | None,
    gC_mnl_simt: cute.Tensor | None,
    epi_tile: cute.Tile,
    sC: cute.Tensor | None,
) -> tuple[Any, Any, Any, Any, Any]:
    """How results come to global memory: by TMA (atom, shared and global memory), by threads (atom, global memory).

    A program gives None for what it does not use, and gets None back.
    """
    from_shared = by_tma = atom = by_threads = None
    if tma_atom_c is not None:
        tiles = cute.group_modes(_tiles(_given("gC_mnl_tma", gC_mnl_tma), epi_tile), 0, 2)
        staged = cute.group_modes(_given("sC", sC), 0, 2)
        from_shared, by_tma = cpasync.tma_partition(tma_atom_c, 0, cute.make_layout(1), staged, tiles)
    if tiled_copy_t2r is not None:
        atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), c_dtype)
        by_threads = tiled_copy_t2r.get_slice(tidx).partition_D(_tiles(_given("gC_mnl_simt", gC_mnl_simt), epi_tile))
    return tma_atom_c, from_shared, by_tma, atom, by_threads


def _tiles(results: cute.Tensor, epi_tile: cute.Tile) -> cute.Tensor:
    """(EPI tile m, EPI tile n, EPI m, EPI n, tile m, tile n, l)."""
    return cute.flat_divide(sm100.transform_partitioned_tensor_layout(results), epi_tile)


def _given(name: str, value: T | None) -> T:
    """What a program must give for the copy that it asks for."""
    if value is not None:
        return value
    raise OperandTypeError(
        "an operand of this copy is missing",
        span=place(),
        found=f"{name}=None",
        expected="copy_atom_a_input where A is scaled; with tma_atom_c gC_mnl_tma and sC; with tiled_copy_t2r "
        "gC_mnl_simt",
    )
