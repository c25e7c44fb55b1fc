"""Softmax, RMSNorm and LayerNorm of rows: a block for each, against float64 with the bounds stated."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

import triptych as tt
from tests.differential.kernel_suite.arrays import MEMORY, SEEDS, block_sizes, laid_out, output
from tests.differential.kernel_suite.block_sharing import MOST, reduce_block, shared
from tests.differential.kernel_suite.cases import case
from tests.differential.kernel_suite.comparing import within
from triptych import cute

EPSILON = 1e-5
UNIT = 2.0**-24
"""The largest relative error of one rounding in Float32."""


def whole_block(own: Any, combine: Any) -> Any:
    """What the values of all threads give together, for each of them; shared memory may be used again after it."""
    thread, _, _ = cute.arch.thread_idx()
    threads, _, _ = cute.arch.block_dim()
    values = shared(tt.Float32, MOST)
    values[thread] = own
    cute.arch.sync_threads()
    reduce_block(values, thread, threads, combine)
    result = values[0]
    cute.arch.sync_threads()
    return result


def total(own: Any) -> Any:
    return whole_block(own, lambda x, y: x + y)


@tt.kernel
def softmax_kernel(x: cute.Tensor, out: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    threads, _, _ = cute.arch.block_dim()
    row, _, _ = cute.arch.block_idx()
    columns = x.shape[1]
    largest = tt.Float32(float("-inf"))
    for i in range(thread, columns, threads):
        largest = cute.arch.fmax(largest, x[row, i].to(tt.Float32))
    largest = whole_block(largest, cute.arch.fmax)
    own = tt.Float32(0.0)
    for i in range(thread, columns, threads):
        own += cute.math.exp(x[row, i].to(tt.Float32) - largest)
    scale = 1.0 / total(own)
    for i in range(thread, columns, threads):
        out[row, i] = (cute.math.exp(x[row, i].to(tt.Float32) - largest) * scale).to(out.element_type)


@tt.kernel
def rms_kernel(x: cute.Tensor, out: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    threads, _, _ = cute.arch.block_dim()
    row, _, _ = cute.arch.block_idx()
    columns = x.shape[1]
    own = tt.Float32(0.0)
    for i in range(thread, columns, threads):
        value = x[row, i].to(tt.Float32)
        own += value * value
    scale = cute.math.rsqrt(total(own) / columns + EPSILON)
    for i in range(thread, columns, threads):
        out[row, i] = (x[row, i].to(tt.Float32) * scale).to(out.element_type)


@tt.kernel
def layer_kernel(x: cute.Tensor, out: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    threads, _, _ = cute.arch.block_dim()
    row, _, _ = cute.arch.block_idx()
    columns = x.shape[1]
    own = tt.Float32(0.0)
    for i in range(thread, columns, threads):
        own += x[row, i].to(tt.Float32)
    mean = total(own) / columns
    own = tt.Float32(0.0)
    for i in range(thread, columns, threads):
        away = x[row, i].to(tt.Float32) - mean
        own += away * away
    scale = cute.math.rsqrt(total(own) / columns + EPSILON)
    for i in range(thread, columns, threads):
        out[row, i] = ((x[row, i].to(tt.Float32) - mean) * scale).to(out.element_type)


@tt.jit
def normalise(x: cute.Tensor, out: cute.Tensor, block: tt.Int32, kernel: tt.Constexpr[Any]) -> None:
    kernel(x, out).launch(grid=x.shape[0], block=block)


DRAWN = {
    "shape": st.tuples(st.integers(1, 12), st.integers(1, 2500)),
    "dtype": st.sampled_from(["float32", "float16"]),
    "spread": st.sampled_from([0.01, 1.0, 30.0]),
    "memory": MEMORY,
    "block": block_sizes(),
    "seed": SEEDS,
}


def _input(shape: Any, dtype: str, spread: float, memory: str, seed: int) -> Any:
    x = laid_out((np.random.default_rng(seed).standard_normal(shape) * spread).astype(dtype), memory)
    return x, x.astype(np.float64)


def _rounding(dtype: str, exact: Any) -> Any:
    """Half a unit in the last place of the result, and of the smallest number where that is more."""
    kind = np.finfo(dtype)
    return np.maximum(np.abs(exact) * kind.eps / 2, kind.smallest_subnormal) * 1.001


@case(8, **DRAWN)
def softmax(shape: Any, dtype: str, spread: float, memory: str, block: int, seed: int) -> None:
    """Relative error of an exponential: 3 units of its own and those of its argument; of the sum: its longest path."""
    x, wide = _input(shape, dtype, spread, memory, seed)
    powers = np.exp(wide - wide.max(1, keepdims=True))
    exact = powers / powers.sum(1, keepdims=True)
    depth = shape[1] / block + 12
    arguments = wide.max(1, keepdims=True) - wide
    relative = (8 + depth + arguments + np.max(arguments, where=powers > 1e-6, initial=0)) * UNIT
    with output(shape, dtype) as out:
        normalise(x, out, block, softmax_kernel)
        within(out, exact, exact * relative + _rounding(dtype, exact) + 1e-37)


@case(6, **DRAWN)
def rms_norm(shape: Any, dtype: str, spread: float, memory: str, block: int, seed: int) -> None:
    """Relative error: half of the mean square's, the root's and two roundings."""
    x, wide = _input(shape, dtype, spread, memory, seed)
    exact = wide / np.sqrt((wide**2).mean(1, keepdims=True) + EPSILON)
    relative = (8 + (shape[1] / block + 12) / 2) * UNIT
    with output(shape, dtype) as out:
        normalise(x, out, block, rms_kernel)
        within(out, exact, np.abs(exact) * relative + _rounding(dtype, exact))


@case(6, **DRAWN)
def layer_norm(shape: Any, dtype: str, spread: float, memory: str, block: int, seed: int) -> None:
    """As RMSNorm, with the mean's error in every distance and, squared, in the variance."""
    x, wide = _input(shape, dtype, spread, memory, seed)
    away = wide - wide.mean(1, keepdims=True)
    scale = 1 / np.sqrt((away**2).mean(1, keepdims=True) + EPSILON)
    depth = shape[1] / block + 12
    mean_error = (depth + 2) * UNIT * np.abs(wide).mean(1, keepdims=True)
    relative = (10 + depth) * UNIT + (mean_error * scale) ** 2 + 2 * UNIT * np.abs(wide).max() * scale
    with output(shape, dtype) as out:
        normalise(x, out, block, layer_kernel)
        exact = away * scale
        within(out, exact, np.abs(exact) * relative + 2 * mean_error * scale + _rounding(dtype, exact))
