"""ReLU on one page: `y = max(x, 0)`, one thread for each element.

A kernel says what *one* thread does. The launch says how many there are: a grid of blocks, a block of threads. There
are as many blocks as needed, so the last one may have threads without an element; they do nothing.
"""

from __future__ import annotations

import numpy as np
from measure import agree, main, versus_numpy

import triptych as tt
from triptych import cute

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


def check() -> None:
    random = np.random.default_rng(0)
    sizes = (1, 255, 256, 257, 100_000)
    for n in sizes:
        x = random.standard_normal(n, np.float32)
        y = np.empty_like(x)
        relu(x, y)
        agree(y, np.maximum(x, 0))
    print(f"relu: equal to NumPy for {', '.join(map(str, sizes))} elements")


def benchmark() -> None:
    x = np.random.default_rng(0).standard_normal(1 << 24, np.float32)
    y = np.empty_like(x)
    versus_numpy("relu", lambda: relu(x, y), lambda: np.maximum(x, 0, out=y), moved=2 * x.nbytes)


if __name__ == "__main__":
    main(check, benchmark)
