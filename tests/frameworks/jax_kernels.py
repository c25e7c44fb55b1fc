"""Functions for tests of calls from JAX. One has a check: pytest rewrites `assert` in files of tests."""

from __future__ import annotations

from typing import Any

import numpy as np

import triptych as tt
from triptych import cute

THREADS = 32


@tt.kernel
def mul_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    row, first = cute.arch.block_idx()[0], cute.arch.thread_idx()[0]
    for j in range(first, a.shape[1], THREADS):
        c[row, j] = a[row, j] * b[row, j]


@tt.jit
def mul(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    mul_kernel(a, b, c).launch(grid=a.shape[0], block=THREADS)


@tt.jit
def copy(x: cute.Tensor, y: cute.Tensor) -> None:
    for i in range(x.shape[0]):
        y[i] = x[i]


@tt.jit
def checked(x: cute.Tensor, y: cute.Tensor) -> None:
    for i in range(x.shape[0]):
        assert x[i] >= 0.0, "x is never negative"
        y[i] = x[i]


def like(x: Any, *_: Any) -> Any:
    return x


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)
