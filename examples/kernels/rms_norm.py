"""RMSNorm of every row of a matrix, a warp per row.

    y = x / sqrt(mean of squares of the row + eps) * weight

A warp is 32 threads that can exchange registers, so a row needs neither shared memory nor a barrier. A block is four
warps, which have nothing to do with each other: warp w of block b has row 4 b + w.
"""

from __future__ import annotations

import numpy as np
from measure import agree, main, versus_numpy

import triptych as tt
from triptych import cute

LANES = cute.arch.WARP_SIZE
WARPS = 4


@tt.kernel
def rms_norm_rows(x: cute.Tensor, weight: cute.Tensor, y: cute.Tensor, eps: tt.Float32) -> None:
    lane, warp, _ = cute.arch.thread_idx()  # a block is 32 x 4: its x counts lanes, its y warps
    block, _, _ = cute.arch.block_idx()
    row = block * WARPS + warp
    rows, columns = x.shape
    if row < rows:  # all lanes of a warp take the same side, so the shuffles inside are safe
        squares = tt.Float32(0.0)
        for i in range(lane, columns, LANES):
            squares += x[row, i] * x[row, i]
        scale = cute.math.rsqrt(cute.arch.warp_reduction_sum(squares) / columns + eps)
        for i in range(lane, columns, LANES):
            y[row, i] = x[row, i] * scale * weight[i]


@tt.jit
def rms_norm(x: cute.Tensor, weight: cute.Tensor, y: cute.Tensor, eps: tt.Float32) -> None:
    rms_norm_rows(x, weight, y, eps).launch(grid=cute.ceil_div(x.shape[0], WARPS), block=(LANES, WARPS))


def numpy_rms_norm(x: np.ndarray, weight: np.ndarray, eps: float) -> np.ndarray:
    return x / np.sqrt((x**2).mean(axis=1, keepdims=True) + eps) * weight


def check() -> None:
    random = np.random.default_rng(0)
    shapes = ((1, 1), (3, 31), (5, 128), (7, 1000), (66, 257))
    for shape in shapes:
        x = random.standard_normal(shape, np.float32)
        weight = random.standard_normal(shape[1], np.float32)
        y = np.empty_like(x)
        rms_norm(x, weight, y, 1e-6)
        agree(y, numpy_rms_norm(x.astype(np.float64), weight, 1e-6), 1e-6)
    print(f"rms norm: agrees with float64 for {', '.join(map(str, shapes))}")


def benchmark() -> None:
    random = np.random.default_rng(0)
    x = random.standard_normal((4096, 1024), np.float32)
    weight = random.standard_normal(1024, np.float32)
    y = np.empty_like(x)
    versus_numpy(
        "rms norm 4096 x 1024",
        lambda: rms_norm(x, weight, y, 1e-6),
        lambda: numpy_rms_norm(x, weight, 1e-6),
        moved=2 * x.nbytes,
    )


if __name__ == "__main__":
    main(check, benchmark)
