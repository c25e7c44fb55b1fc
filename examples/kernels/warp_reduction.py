"""Sum and maximum of an array, with shuffles: lanes of a warp read each other's registers, without memory or barrier.

The threads of a block run in warps, of 32 lanes on most machines. `shuffle_sync_bfly(x, offset=k)` gives each lane the
`x` of the lane whose number differs in the bit of k: after five exchanges every one of 32 has the sum of all. Only the
eight warps of a block then meet in shared memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import triptych as tt
from triptych import cute, workbench

THREADS = 256
PER_BLOCK = 16 * THREADS

Combine = Callable[[Any, Any], Any]


def add(a: Any, b: Any) -> Any:
    return a + b


def warp_reduce(value: Any, combine: Combine) -> Any:
    """The values of all lanes combined, in every lane. `cute.arch.warp_reduction` is this function."""
    offset = 1
    while offset < cute.arch.WARP_SIZE:
        value = combine(value, cute.arch.shuffle_sync_bfly(value, offset=offset))
        offset *= 2
    return value


def block_reduce(value: Any, combine: Combine) -> Any:
    """The values of all threads of a block combined, in every thread."""
    warps = THREADS // cute.arch.WARP_SIZE
    parts = cute.SmemAllocator().allocate_tensor(type(value), cute.make_layout(warps))
    value = warp_reduce(value, combine)
    if cute.arch.lane_idx() == 0:
        parts[cute.arch.warp_idx()] = value
    cute.arch.sync_threads()
    result = parts[0]
    for warp in tt.range_constexpr(1, warps):
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


WAYS = {"sum": (add, 0.0, np.sum), "maximum": (cute.arch.fmax, float("-inf"), np.max)}
CASES = {
    **{f"{name}, {n}": {"name": name, "n": n} for name in WAYS for n in (1, 31, 255, 4097)},
    **{name: {"name": name, "n": 1 << 20, "bench": True} for name in WAYS},
}


def kernel_fn(x: np.ndarray, name: str) -> np.ndarray:
    combine, start, _ = WAYS[name]
    return np.asarray(reduce(x, combine, start), np.float32)


def reference_fn(x: np.ndarray, name: str) -> np.ndarray:
    return np.asarray(WAYS[name][2](x))


baseline_fn = reference_fn


def get_inputs(n: int = 10_000, name: str = "sum", seed: int = 0) -> list[object]:
    return [1 + np.random.default_rng(seed).standard_normal(n, np.float32), name]


def algorithmic_flops_bytes(x: np.ndarray, name: str) -> tuple[int, int]:
    return x.size, x.nbytes


workbench.main(__name__)
