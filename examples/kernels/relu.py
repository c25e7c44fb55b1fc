"""ReLU on one page: `y = max(x, 0)`, one thread for each element.

A kernel says what *one* thread does. The launch says how many there are: a grid of blocks, a block of threads. There
are as many blocks as needed, so the last one may have threads without an element; they do nothing.
"""

from __future__ import annotations

import numpy as np

import triptych as tt
from triptych import cute, workbench

THREADS = 256


@tt.kernel
def relu_kernel(x: cute.Tensor, y: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if i < cute.size(x):
        y[i] = cute.math.max(x[i], 0.0)


@tt.jit
def relu(x: cute.Tensor, y: cute.Tensor) -> None:
    relu_kernel(x, y).launch(grid=cute.ceil_div(cute.size(x), THREADS), block=THREADS)


CASES = {"one": {"n": 1}, "a block": {"n": 256}, "and one": {"n": 257}, "large": {"n": 1 << 20, "bench": True}}


def kernel_fn(x: np.ndarray) -> np.ndarray:
    y = np.empty_like(x)
    relu(x, y)
    return y


def reference_fn(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0)


baseline_fn = reference_fn


def get_inputs(n: int = 1000, seed: int = 0) -> list[np.ndarray]:
    return [np.random.default_rng(seed).standard_normal(n, np.float32) + np.float32(0.5)]


def algorithmic_flops_bytes(x: np.ndarray) -> tuple[int, int]:
    return x.size, 2 * x.nbytes


workbench.main(__name__)
