"""One thread for each element of a vector, with predication where the grid is larger than the array."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

import triptych as tt
from tests.differential.kernel_suite.arrays import (
    MEMORY,
    SEEDS,
    WRITABLE,
    block_sizes,
    laid_out,
    output,
    whole_numbers,
)
from tests.differential.kernel_suite.cases import case
from tests.differential.kernel_suite.comparing import same
from triptych import cute

NUMBERS = [*(f"{sign}int{width}" for sign in ("", "u") for width in (8, 16, 32, 64)), "float16", "float32", "float64"]
NARROW = [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]
OPERATIONS = [
    lambda x, y: x * y + x,
    lambda x, y: (x - y) * (x + y),
    lambda x, y: -x + y * y,
]
INTEGER_OPERATIONS = [
    lambda x, y: (x ^ y) + (x & y) - (x | y),
    lambda x, y: x // (y * y + 1) + x % (y * y + 1),
    lambda x, y: (x << (y & 3)) + (x >> (y & 3)),
]


def number_of_thread() -> Any:
    """Of all threads of a grid in one dimension."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    threads, _, _ = cute.arch.block_dim()
    return block * threads + thread


@tt.kernel
def apply_kernel(x: cute.Tensor, y: cute.Tensor, z: cute.Tensor, operation: tt.Constexpr[Any]) -> None:
    i = number_of_thread()
    if i < cute.size(z):
        z[i] = operation(x[i], y[i])


@tt.jit
def apply(x: cute.Tensor, y: cute.Tensor, z: cute.Tensor, block: tt.Int32, operation: tt.Constexpr[Any]) -> None:
    apply_kernel(x, y, z, operation).launch(grid=cute.ceil_div(cute.size(z), block), block=block)


def _applied(dtype: Any, n: int, block: int, memory: tuple[str, str, str], seed: int, operation: Any) -> None:
    x = laid_out(whole_numbers(seed, n, dtype), memory[0])
    y = laid_out(whole_numbers(seed + 1, n, dtype), memory[1])
    with output(n, dtype, memory[2]) as z:
        apply(x, y, z, block, operation)
        same(z, operation(x, y))


ONE_DIMENSION = {
    "n": st.integers(1, 3000),
    "block": block_sizes(),
    "memory": st.tuples(MEMORY, MEMORY, WRITABLE),
    "seed": SEEDS,
}


@case(12, dtype=st.sampled_from(NUMBERS), operation=st.sampled_from(OPERATIONS), **ONE_DIMENSION)
def numbers_of_every_type(**drawn: Any) -> None:
    _applied(**drawn)


@case(8, dtype=st.sampled_from(NUMBERS[:8]), operation=st.sampled_from(INTEGER_OPERATIONS), **ONE_DIMENSION)
def integers_of_every_width(**drawn: Any) -> None:
    _applied(**drawn)


@tt.kernel
def widen_kernel(x: cute.Tensor, y: cute.Tensor, z: cute.Tensor) -> None:
    i = number_of_thread()
    if i < cute.size(z):
        z[i] = x[i].to(tt.Float32) * y[i].to(tt.Float32) + 1.0


@tt.jit
def widen(x: cute.Tensor, y: cute.Tensor, z: cute.Tensor, block: tt.Int32) -> None:
    widen_kernel(x, y, z).launch(grid=cute.ceil_div(cute.size(z), block), block=block)


@case(
    6,
    dtypes=st.tuples(st.sampled_from(NARROW), st.sampled_from(NARROW)),
    n=st.integers(1, 2000),
    block=block_sizes(),
    memory=st.tuples(MEMORY, MEMORY),
    seed=SEEDS,
)
def narrow_floats_are_exact_inputs(dtypes: Any, n: int, block: int, memory: tuple[str, str], seed: int) -> None:
    x, y = (laid_out(whole_numbers(seed + k, n, dtypes[k]), memory[k]) for k in (0, 1))
    with output(n, np.float32) as z:
        widen(x, y, z, block)
        same(z, x.astype(np.float32) * y.astype(np.float32) + np.float32(1))


@tt.kernel
def saxpy_kernel(a: tt.Float32, x: cute.Tensor, y: cute.Tensor) -> None:
    i = number_of_thread()
    if i < cute.size(y):
        y[i] = cute.arch.fma(a, x[i], y[i])


@tt.jit
def saxpy(a: tt.Float32, x: cute.Tensor, y: cute.Tensor, block: tt.Int32) -> None:
    saxpy_kernel(a, x, y).launch(grid=cute.ceil_div(cute.size(y), block), block=block)


@case(10, a=st.floats(-4, 4, width=32), n=st.integers(1, 5000), block=block_sizes(), seed=SEEDS)
def saxpy_rounds_once(a: float, n: int, block: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    x, start = (random.standard_normal(n).astype(np.float32) for _ in range(2))
    # A product of two Float32 is exact in float64; the sum has one rounding to float64 before the one to Float32,
    # which changes the result only on a tie: one unit in the last place.
    exact = np.float64(a) * x.astype(np.float64) + start
    with output(n, np.float32) as y:
        y[:] = start
        saxpy(a, x, y, block)
        assert (np.abs(y - exact) <= np.spacing(np.abs(exact).astype(np.float32)) * 0.5001).all()
