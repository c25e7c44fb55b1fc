"""Mixed-input GEMM rules: which tiles, clusters, blocks with a scale and strides there are, as hosts ask."""

from __future__ import annotations

from triptych.kernel_ir.dialects.umma import DEPTH_BITS
from triptych.metastage.values.scalars import BFloat16, Int4, Numeric

Shape2 = tuple[int, int]
Shape3 = tuple[int, int, int]

_TMA_BITS = 128
"""TMA moves whole units of 16 bytes of the contiguous mode."""
_CLUSTER_BLOCKS = 16
_INSTRUCTION_DEPTH = DEPTH_BITS // 16
"""A product of 16-bit factors takes this much of K."""
SHUFFLE = (0, 2, 1, 3, 4, 6, 5, 7)
"""Where each of eight shuffled neighbours along K comes from; the same permutation again undoes it."""


def get_divisibility(contiguous_dim_size: int, upper_bound: int = 128) -> int:
    """The largest power of two, at most `upper_bound`, that divides an extent."""
    return min(contiguous_dim_size & -contiguous_dim_size, upper_bound)


def is_shuffle_a(
    a_major: str, k: int, a_dtype: type[Numeric], b_dtype: type[Numeric], scale_granularity_k: int
) -> bool:
    """Whether A may lie in memory with each eight neighbours along K in the order `SHUFFLE`.

    Four bits become BFloat16 fastest in that order. A row must be contiguous, and blocks of a scale be whole eights.
    """
    group = len(SHUFFLE)
    is_packed = a_dtype is Int4 and b_dtype is BFloat16
    return is_packed and a_major == "k" and k % group == 0 and scale_granularity_k % group == 0


def is_valid_mma_tiler_and_cluster_shape(
    mma_tiler_mnk: Shape3, cluster_shape_mn: Shape2, use_2cta_instrs: bool
) -> bool:
    """Whether UMMA has the tile, and a cluster of whole CTA groups has at most 16 CTAs, a power of two each way."""
    rows, columns, depth = mma_tiler_mnk
    group = 2 if use_2cta_instrs else 1
    is_tile = (
        rows in (64 * group, 128 * group)
        and columns in range(8 * group, 257, 8 * group)
        and depth > 0
        and depth % _INSTRUCTION_DEPTH == 0
    )
    across, along = cluster_shape_mn
    is_cluster = all(extent > 0 and extent & (extent - 1) == 0 for extent in cluster_shape_mn)
    return is_tile and is_cluster and across % group == 0 and across * along <= _CLUSTER_BLOCKS


def is_valid_scale_granularity(
    scale_granularity_m: int, scale_granularity_k: int, a_dtype: type[Numeric], k: int, mma_tiler_k: int
) -> bool:
    """Whether scales fit A: integers of four bits have one for each row and whole tiles of K, other types have none."""
    if a_dtype is not Int4:
        return scale_granularity_m == 0 and scale_granularity_k == 0
    is_whole = scale_granularity_k > 0 and scale_granularity_k % mma_tiler_k == 0 and k % scale_granularity_k == 0
    return scale_granularity_m == 1 and is_whole


def is_valid_tensor_alignment(
    m: int,
    n: int,
    k: int,
    a_dtype: type[Numeric],
    b_dtype: type[Numeric],
    c_dtype: type[Numeric],
    scale_dtype: type[Numeric],
    a_major: str,
    b_major: str,
    c_major: str,
    mma_tiler_mnk: Shape3,
    use_2cta_instrs: bool,
    cluster_shape_mn: Shape2,
    scale_granularity_m: int,
    scale_granularity_k: int,
) -> bool:
    """Whether TMA takes all tensors: strides, and the scales that each CTA loads for a multicast, of whole 16 bytes."""
    is_aligned = (
        _is_whole(m if a_major == "m" else k, a_dtype)
        and _is_whole(n if b_major == "n" else k, b_dtype)
        and _is_whole(m if c_major == "m" else n, c_dtype)
    )
    if scale_granularity_m == 0 or scale_granularity_k == 0:
        return is_aligned
    rows = mma_tiler_mnk[0] // (2 if use_2cta_instrs else 1) // scale_granularity_m
    loaded = rows // cluster_shape_mn[1]
    return is_aligned and _is_whole(m // scale_granularity_m, scale_dtype) and _is_whole(loaded, scale_dtype)


def _is_whole(extent: int, dtype: type[Numeric]) -> bool:
    return extent * dtype.width % _TMA_BITS == 0
