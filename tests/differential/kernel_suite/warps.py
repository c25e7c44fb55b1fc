"""Warps: shuffles of all kinds and widths, reductions and scans by them, votes; blocks with an incomplete last warp."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

import triptych as tt
from tests.differential.kernel_suite.arrays import SEEDS, Array, block_sizes, output
from tests.differential.kernel_suite.arrays import whole_numbers as whole
from tests.differential.kernel_suite.block_sharing import shared
from tests.differential.kernel_suite.cases import case
from tests.differential.kernel_suite.comparing import same
from triptych import cute

WIDTHS = st.sampled_from([1, 2, 4, 8, 16, 32])
DTYPES = ["int8", "int32", "uint16", "int64", "float16", ml_dtypes.bfloat16, "float32", "float64"]


def whole_warps(most: int = 32) -> st.SearchStrategy[int]:
    return st.integers(1, most).map(lambda warps: warps * 32)


# shuffles -------------------------------------------------------------------------------------------------------------
@tt.kernel
def shuffle_kernel(
    x: cute.Tensor, out: cute.Tensor, offsets: cute.Tensor, control: tt.Int32, kind: tt.Constexpr[Any]
) -> None:
    """Row 0 by the same offset in all lanes, row 1 by every lane's own."""
    thread, _, _ = cute.arch.thread_idx()
    for row, offset in enumerate((offsets[0], offsets[thread])):
        out[row, thread] = cute.arch.shuffle_sync_op(x[thread], offset, mask_and_clamp=control, kind=kind)


@tt.jit
def shuffled(
    x: cute.Tensor, out: cute.Tensor, offsets: cute.Tensor, control: tt.Int32, kind: tt.Constexpr[Any]
) -> None:
    shuffle_kernel(x, out, offsets, control, kind).launch(grid=1, block=cute.size(x))


def source_lanes(kind: str, lanes: Array, offsets: Array, width: int) -> Any:
    """The lane that a lane reads, by the manual of the instruction; its own when there is none in its segment."""
    segment = lanes // width * width
    match kind:
        case "up":
            source = lanes - offsets
        case "down":
            source = lanes + offsets
        case "bfly":
            source = lanes ^ offsets
        case _:
            return segment + offsets % width
    # A butterfly may also read the segments before.
    inside = (source < segment + width) & ((source >= segment) | (kind == "bfly"))
    return np.where(inside, source, lanes)


@case(
    10,
    kind=st.sampled_from(["idx", "up", "down", "bfly"]),
    dtype=st.sampled_from(DTYPES),
    block=block_sizes(),
    width=WIDTHS,
    seed=SEEDS,
)
def shuffles_of_all_widths(kind: str, dtype: Any, block: int, width: int, seed: int) -> None:
    x = whole(seed, block, dtype, 100)
    offsets = np.random.default_rng(seed).integers(0, 32, block).astype(np.int32)
    control = (32 - width) << 8 | (0 if kind == "up" else 31)
    lanes = np.arange(block) % 32
    with output((2, block), dtype) as out:
        shuffled(x, out, offsets, control, kind)
        for row, offset in ((0, np.full(block, offsets[0])), (1, offsets)):
            source = np.arange(block) - lanes + source_lanes(kind, lanes, offset, width)
            known = source < block  # what a lane that does not exist holds is undefined
            same(out[row][known], x[source[known]])


# reductions -----------------------------------------------------------------------------------------------------------
@tt.kernel
def reduce_kernel(x: cute.Tensor, out: cute.Tensor, width: tt.Constexpr[int]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    total = x[thread]
    distance = width // 2
    while distance > 0:
        total += cute.arch.shuffle_sync_bfly(total, distance)
        distance //= 2
    out[0, thread] = total
    out[1, thread] = cute.arch.warp_reduction_max(x[thread], threads_in_group=width)


@tt.jit
def reduced(x: cute.Tensor, out: cute.Tensor, width: tt.Constexpr[int]) -> None:
    reduce_kernel(x, out, width).launch(grid=1, block=cute.size(x))


@case(8, block=whole_warps(), width=WIDTHS, dtype=st.sampled_from(["int32", "float32", "int64", "float16"]), seed=SEEDS)
def reductions_of_groups_of_lanes(block: int, width: int, dtype: str, seed: int) -> None:
    x = whole(seed, block, dtype)
    groups = x.reshape(-1, width)
    with output((2, block), dtype) as out:
        reduced(x, out, width)
        same(out[0], groups.sum(1, dtype=dtype).repeat(width))
        same(out[1], groups.max(1).repeat(width))


@tt.kernel
def sum_rows_kernel(x: cute.Tensor, out: cute.Tensor) -> None:
    """The usual block reduction: in registers, in warps, and the warps' sums in the first warp."""
    thread, _, _ = cute.arch.thread_idx()
    threads, _, _ = cute.arch.block_dim()
    row, _, _ = cute.arch.block_idx()
    lane, warp = cute.arch.lane_idx(), cute.arch.warp_idx()
    partial = shared(x.element_type, 32)
    columns = x.shape[1]
    total = x.element_type(0)
    for column in range(thread, columns, threads):
        total += x[row, column]
    for k in tt.range_constexpr(5):
        other = cute.arch.shuffle_sync_down(total, 16 >> k)
        if thread + (16 >> k) < threads:
            total += other
    if lane == 0:
        partial[warp] = total
    cute.arch.sync_threads()
    if warp == 0:
        total = partial[lane] if lane < (threads + 31) // 32 else x.element_type(0)
        for k in tt.range_constexpr(5):
            other = cute.arch.shuffle_sync_down(total, 16 >> k)
            if lane + (16 >> k) < threads:
                total += other
        if lane == 0:
            out[row] = total


@tt.jit
def sum_rows(x: cute.Tensor, out: cute.Tensor, block: tt.Int32) -> None:
    sum_rows_kernel(x, out).launch(grid=x.shape[0], block=block)


@case(
    12,
    shape=st.tuples(st.integers(1, 6), st.integers(1, 3000)),
    block=block_sizes(),
    dtype=st.sampled_from(["int32", "float32", "int64"]),
    seed=SEEDS,
)
def sums_of_rows_by_warps(shape: Any, block: int, dtype: str, seed: int) -> None:
    x = whole(seed, shape, dtype, 100)
    with output(shape[0], dtype) as out:
        sum_rows(x, out, block)
        same(out, x.sum(1, dtype=dtype))


# scans ----------------------------------------------------------------------------------------------------------------
@tt.kernel
def scan_kernel(x: cute.Tensor, out: cute.Tensor) -> None:
    """Scans of the warps, then of their sums, for any number of threads."""
    thread, _, _ = cute.arch.thread_idx()
    threads, _, _ = cute.arch.block_dim()
    row, _, _ = cute.arch.block_idx()
    lane, warp = cute.arch.lane_idx(), cute.arch.warp_idx()
    sums = shared(x.element_type, 33)
    own = x[row, thread]
    distance = tt.Int32(1)
    while distance < 32:
        before = cute.arch.shuffle_sync_up(own, distance)
        if lane >= distance:
            own += before
        distance *= 2
    if lane == 31 or thread == threads - 1:
        sums[warp] = own
    cute.arch.sync_threads()
    if thread == 0:
        running = x.element_type(0)
        for w in range((threads + 31) // 32):
            here = sums[w]
            sums[w] = running
            running += here
    cute.arch.sync_threads()
    out[row, thread] = own + sums[warp]


@tt.jit
def scan_rows(x: cute.Tensor, out: cute.Tensor) -> None:
    rows, columns = x.shape
    scan_kernel(x, out).launch(grid=rows, block=columns)


@case(12, rows=st.integers(1, 5), block=block_sizes(), dtype=st.sampled_from(["int32", "float64", "uint8"]), seed=SEEDS)
def scans_by_shuffles(rows: int, block: int, dtype: str, seed: int) -> None:
    x = whole(seed, (rows, block), dtype)
    with output((rows, block), dtype) as out:
        scan_rows(x, out)
        same(out, np.cumsum(x, axis=1, dtype=dtype))


# votes ----------------------------------------------------------------------------------------------------------------
@tt.kernel
def votes_kernel(x: cute.Tensor, out: cute.Tensor, limit: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    above = x[thread] > limit
    out[0, thread] = cute.arch.vote_any_sync(above).to(tt.Int32)
    out[1, thread] = cute.arch.vote_all_sync(above).to(tt.Int32)
    out[2, thread] = cute.arch.vote_uni_sync(above).to(tt.Int32)
    out[3, thread] = cute.arch.vote_ballot_sync(above)
    out[4, thread] = cute.arch.match_any_sync(x[thread])
    out[5, thread] = cute.arch.warp_redux_sync(x[thread], "add")
    out[6, thread] = cute.arch.warp_redux_sync(x[thread], "min")


@tt.jit
def votes(x: cute.Tensor, out: cute.Tensor, limit: tt.Int32) -> None:
    votes_kernel(x, out, limit).launch(grid=1, block=cute.size(x))


def _bits(truths: Array) -> int:
    ballot = sum(1 << lane for lane, truth in enumerate(truths) if truth)
    return ballot - 2**32 if ballot >= 2**31 else ballot


@case(12, block=block_sizes(), limit=st.integers(-8, 8), most=st.integers(0, 7), seed=SEEDS)
def votes_of_whole_and_incomplete_warps(block: int, limit: int, most: int, seed: int) -> None:
    x = whole(seed, block, np.int32, most)
    with output((7, block), np.int32) as out:
        votes(x, out, limit)
        for first in range(0, block, 32):
            here = x[first : first + 32]
            above = here > limit
            found = out[:, first : first + 32]
            same(found[0], above.any())
            same(found[1], above.all())
            same(found[2], above.all() or not above.any())
            same(found[3], _bits(above))
            same(found[4], [_bits(here == value) for value in here])
            same(found[5], here.sum())
            same(found[6], here.min())


@tt.kernel
def compact_kernel(x: cute.Tensor, out: cute.Tensor, counts: cute.Tensor) -> None:
    """The positive elements of a row moved together in their order."""
    thread, _, _ = cute.arch.thread_idx()
    threads, _, _ = cute.arch.block_dim()
    row, _, _ = cute.arch.block_idx()
    lane, warp = cute.arch.lane_idx(), cute.arch.warp_idx()
    begins = shared(tt.Int32, 33)
    keep = x[row, thread] > 0
    ballot = cute.arch.vote_ballot_sync(keep)
    if lane == 0:
        begins[warp + 1] = cute.arch.popc(ballot)
    cute.arch.sync_threads()
    if thread == 0:
        begins[0] = 0
        for w in range((threads + 31) // 32):
            begins[w + 1] = begins[w] + begins[w + 1]
        counts[row] = begins[(threads + 31) // 32]
    cute.arch.sync_threads()
    if keep:
        before = cute.arch.popc(ballot & ((tt.Int32(1) << lane) - 1))
        out[row, begins[warp] + before] = x[row, thread]


@tt.jit
def compact(x: cute.Tensor, out: cute.Tensor, counts: cute.Tensor) -> None:
    rows, columns = x.shape
    compact_kernel(x, out, counts).launch(grid=rows, block=columns)


@case(10, rows=st.integers(1, 5), block=block_sizes(), seed=SEEDS)
def elements_moved_together_by_ballots(rows: int, block: int, seed: int) -> None:
    x = whole(seed, (rows, block), np.int32, 5)
    with output((rows, block), np.int32) as out, output(rows, np.int32) as counts:
        out[...] = -1
        compact(x, out, counts)
        same(counts, (x > 0).sum(1))
        for row, values in zip(out, x, strict=True):
            kept = values[values > 0]
            same(row, np.append(kept, np.full(block - len(kept), -1)))
