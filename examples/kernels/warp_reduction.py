"""Sum and maximum of an array, with shuffles: lanes of a warp read each other's registers, without memory or barrier.

The threads of a block run in warps of 32 lanes. `shuffle_sync_bfly(x, offset=k)` gives each lane the `x` of the lane
whose number differs in bit k: after five exchanges every lane has the sum of all. Only the eight warps of a block then
meet in shared memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from measure import agree, main, versus_numpy

import triptych as tt
from triptych import cute

THREADS = 256
WARPS = THREADS // cute.arch.WARP_SIZE
PER_BLOCK = 16 * THREADS

Combine = Callable[[Any, Any], Any]


def add(a: Any, b: Any) -> Any:
    return a + b


def warp_reduce(value: Any, combine: Combine) -> Any:
    """The values of 32 lanes combined, in every lane. `cute.arch.warp_reduction` is this function."""
    for offset in (1, 2, 4, 8, 16):
        value = combine(value, cute.arch.shuffle_sync_bfly(value, offset=offset))
    return value


def block_reduce(value: Any, combine: Combine) -> Any:
    """The values of all threads of a block combined, in every thread."""
    parts = cute.SmemAllocator().allocate_tensor(type(value), cute.make_layout(WARPS))
    value = warp_reduce(value, combine)
    if cute.arch.lane_idx() == 0:
        parts[cute.arch.warp_idx()] = value
    cute.arch.sync_threads()
    result = parts[0]
    for warp in tt.range_constexpr(1, WARPS):
        result = combine(result, parts[warp])
    return result


@tt.kernel
def reduce_block(x: cute.Tensor, out: cute.Tensor, combine: tt.Constexpr, neutral: tt.Constexpr) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    result = tt.Float32(neutral)
    for step in range(PER_BLOCK // THREADS):
        i = block * PER_BLOCK + step * THREADS + thread
        if i < cute.size(x):
            result = combine(result, x[i])
    result = block_reduce(result, combine)
    if thread == 0:
        out[block] = result


@tt.jit
def reduce_blocks(x: cute.Tensor, out: cute.Tensor, combine: tt.Constexpr, neutral: tt.Constexpr) -> None:
    reduce_block(x, out, combine, neutral).launch(grid=cute.size(out), block=THREADS)


def reduce(x: np.ndarray, combine: Combine, neutral: float) -> np.float32:
    """Reduce until one number is left."""
    while True:
        out = np.empty(max(1, -(-x.size // PER_BLOCK)), np.float32)
        reduce_blocks(x, out, combine, neutral)
        if out.size == 1:
            return out[0]
        x = out


def check() -> None:
    random = np.random.default_rng(0)
    sizes = (1, 31, 255, 4097, 1_000_003)
    for n in sizes:
        x = random.standard_normal(n, np.float32)
        agree(reduce(x, add, 0.0) / n, x.sum(dtype=np.float64) / n, 1e-6)
        agree(reduce(x, cute.arch.fmax, float("-inf")), x.max())
    print(f"warp reduction: sum and maximum agree with float64 for {', '.join(map(str, sizes))} elements")


def benchmark() -> None:
    x = np.random.default_rng(0).random(1 << 24, np.float32)
    versus_numpy("sum by shuffles", lambda: reduce(x, add, 0.0), x.sum, moved=x.nbytes)
    versus_numpy("maximum by shuffles", lambda: reduce(x, cute.arch.fmax, float("-inf")), x.max, moved=x.nbytes)


if __name__ == "__main__":
    main(check, benchmark)
