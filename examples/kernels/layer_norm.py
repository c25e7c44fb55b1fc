"""LayerNorm of every row of a matrix, a block per row.

    y = (x - mean) / sqrt(variance + eps) * weight + bias          mean and variance of the row

The variance is taken from the distances to the mean, in a second pass over the row: the mean of the squares minus the
square of the mean would lose everything when the mean is large. The row is in the cache by then.
"""

from __future__ import annotations

import numpy as np

import triptych as tt
from triptych import cute, workbench

THREADS = 128


def block_sum(value: tt.Float32) -> tt.Float32:
    """The sum over the threads of the block, in every thread: each warp by shuffles, the warps in shared memory."""
    warps = THREADS // cute.arch.WARP_SIZE
    parts = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(warps))
    of_warp = cute.arch.warp_reduction_sum(value)
    if cute.arch.lane_idx() == 0:
        parts[cute.arch.warp_idx()] = of_warp
    cute.arch.sync_threads()
    return parts.load().reduce(cute.ReductionOp.ADD, 0.0, 0)


@tt.kernel
def layer_norm_row(x: cute.Tensor, weight: cute.Tensor, bias: cute.Tensor, y: cute.Tensor, eps: tt.Float32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    columns = x.shape[1]

    total = tt.Float32(0.0)
    for i in range(thread, columns, THREADS):
        total += x[row, i]
    mean = block_sum(total) / columns

    squares = tt.Float32(0.0)
    for i in range(thread, columns, THREADS):
        distance = x[row, i] - mean
        squares += distance * distance
    scale = cute.math.rsqrt(block_sum(squares) / columns + eps)

    for i in range(thread, columns, THREADS):
        y[row, i] = (x[row, i] - mean) * scale * weight[i] + bias[i]


@tt.jit
def layer_norm(x: cute.Tensor, weight: cute.Tensor, bias: cute.Tensor, y: cute.Tensor, eps: tt.Float32) -> None:
    layer_norm_row(x, weight, bias, y, eps).launch(grid=x.shape[0], block=THREADS)


def numpy_layer_norm(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, eps: float) -> np.ndarray:
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + eps) * weight + bias


EPS = 1e-5
CASES = {
    **{f"{rows} x {columns}": {"rows": rows, "columns": columns} for rows, columns in ((3, 31), (5, 128), (64, 257))},
    "large": {"rows": 1024, "columns": 1024, "bench": True},
}


def kernel_fn(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    y = np.empty_like(x)
    layer_norm(x, weight, bias, y, EPS)
    return y


def reference_fn(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return numpy_layer_norm(x, weight, bias, x.dtype.type(EPS))


baseline_fn = reference_fn


def get_inputs(rows: int = 7, columns: int = 1000, seed: int = 0) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    weight, bias = random.standard_normal((2, columns), np.float32)
    return [100 + random.standard_normal((rows, columns), np.float32), weight, bias]


def algorithmic_flops_bytes(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> tuple[int, int]:
    return 8 * x.size, 2 * x.nbytes


workbench.main(__name__)
