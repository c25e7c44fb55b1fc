"""RMSNorm of every row of a matrix, a warp per row.

    y = x / sqrt(mean of squares of the row + eps) * weight

A warp is 32 threads that can exchange registers, so a row needs neither shared memory nor a barrier. A block is four
warps, which have nothing to do with each other: warp w of block b has row 4 b + w.
"""

from __future__ import annotations

import numpy as np

import triptych as tt
from triptych import cute, workbench

WARPS = 4


@tt.kernel
def rms_norm_rows(x: cute.Tensor, weight: cute.Tensor, y: cute.Tensor, eps: tt.Float32) -> None:
    lane, warp, _ = cute.arch.thread_idx()  # a block has 4 warps: its x counts lanes, its y warps
    block, _, _ = cute.arch.block_idx()
    row = block * WARPS + warp
    rows, columns = x.shape
    if row < rows:  # all lanes of a warp take the same side, so the shuffles inside are safe
        squares = tt.Float32(0.0)
        for i in range(lane, columns, cute.arch.WARP_SIZE):
            squares += x[row, i] * x[row, i]
        scale = cute.math.rsqrt(cute.arch.warp_reduction_sum(squares) / columns + eps)
        for i in range(lane, columns, cute.arch.WARP_SIZE):
            y[row, i] = x[row, i] * scale * weight[i]


@tt.jit
def rms_norm(x: cute.Tensor, weight: cute.Tensor, y: cute.Tensor, eps: tt.Float32) -> None:
    rms_norm_rows(x, weight, y, eps).launch(grid=cute.ceil_div(x.shape[0], WARPS), block=(cute.arch.WARP_SIZE, WARPS))


def numpy_rms_norm(x: np.ndarray, weight: np.ndarray, eps: float) -> np.ndarray:
    return x / np.sqrt((x**2).mean(axis=1, keepdims=True) + eps) * weight


EPS = 1e-6
CASES = {
    **{f"{rows} x {columns}": {"rows": rows, "columns": columns} for rows, columns in ((3, 31), (5, 128), (66, 257))},
    "large": {"rows": 1024, "columns": 1024, "bench": True},
}


def kernel_fn(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    y = np.empty_like(x)
    rms_norm(x, weight, y, EPS)
    return y


def reference_fn(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return numpy_rms_norm(x, weight, x.dtype.type(EPS))


baseline_fn = reference_fn


def get_inputs(rows: int = 7, columns: int = 1000, seed: int = 0) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [random.standard_normal((rows, columns), np.float32), random.standard_normal(columns, np.float32)]


def algorithmic_flops_bytes(x: np.ndarray, weight: np.ndarray) -> tuple[int, int]:
    return 4 * x.size, 2 * x.nbytes


workbench.main(__name__)
