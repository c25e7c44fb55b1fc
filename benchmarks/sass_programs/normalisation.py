"""RMSNorm with a block for each row of half-precision numbers, eight at a time, as in a public kernel of the peer."""

from __future__ import annotations

import triptych as tt
from triptych import cute

COLUMNS = 4096
EACH = 8
"""Values that a thread moves at once: 128 bits."""
LANES = cute.arch.WARP_SIZE
WARPS = 4
THREADS = LANES * WARPS


@tt.jit
def sum_of_block(value: tt.Float32, thread: tt.Int32) -> tt.Float32:
    """Each warp adds up its own, the first warp adds up the warps' sums and everybody reads them."""
    sums = cute.SmemAllocator().allocate_tensor(tt.Float32, WARPS + 1)
    warp, lane = thread // LANES, thread % LANES
    total = cute.arch.warp_reduction_sum(value)
    if lane == 0:
        sums[warp] = total
    cute.arch.sync_threads()
    if warp == 0:
        part = tt.Float32(0.0)
        if lane < WARPS:
            part = sums[lane]
        sums[WARPS] = cute.arch.warp_reduction_sum(part)
    cute.arch.sync_threads()
    everything: tt.Float32 = sums[WARPS]
    return everything


@tt.kernel
def normalise_rows(y: cute.Tensor, x: cute.Tensor, weight: cute.Tensor, copy: cute.TiledCopy, eps: tt.Float32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    mine = copy.get_slice(thread)
    rows = [cute.local_tile(matrix, tiler=(1, COLUMNS), coord=(row, 0))[0, None] for matrix in (y, x)]
    my_y, my_x, my_weight = [mine.partition_S(tensor) for tensor in (*rows, weight)]
    in_x, in_weight, in_y = [cute.make_fragment_like(tensor) for tensor in (my_x, my_weight, my_y)]
    pieces = cute.size(my_y, mode=[1])
    inside = cute.make_rmem_tensor(pieces, tt.Boolean)
    in_x.fill(0)
    for i in tt.range_constexpr(pieces):
        inside[i] = (i * THREADS + thread) * EACH < COLUMNS
    for i in tt.range_constexpr(pieces):
        if inside[i]:
            cute.autovec_copy(my_x[None, i], in_x[None, i])
            cute.autovec_copy(my_weight[None, i], in_weight[None, i])
    squares = tt.Float32(0.0)
    for i in tt.range_constexpr(pieces):
        if inside[i]:
            for k in tt.range_constexpr(EACH):
                value = in_x[None, i][k].to(tt.Float32)
                squares += value * value
    scale = cute.math.rsqrt(sum_of_block(squares, thread) / COLUMNS + eps)
    in_y.store((in_x.load() * scale * in_weight.load()).to(in_y.element_type))
    for i in tt.range_constexpr(pieces):
        if inside[i]:
            cute.autovec_copy(in_y[None, i], my_y[None, i])


@tt.jit
def rms_norm(y: cute.Tensor, x: cute.Tensor, weight: cute.Tensor, eps: tt.Float32) -> None:
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), x.element_type, num_bits_per_copy=EACH * 16)
    copy = cute.make_tiled_copy_tv(atom, cute.make_layout(THREADS), cute.make_layout(EACH))
    normalise_rows(y, x, weight, copy, eps).launch(grid=x.shape[0], block=THREADS)
