"""Atomic updates: histograms in global and shared memory, extremes, and loops of compare-and-swap."""

from __future__ import annotations

from functools import reduce
from operator import and_, or_, xor
from typing import Any

import numpy as np
from hypothesis import strategies as st

import triptych as tt
from tests.differential.kernel_suite.arrays import SEEDS, block_sizes, output
from tests.differential.kernel_suite.arrays import whole_numbers as whole
from tests.differential.kernel_suite.block_sharing import shared
from tests.differential.kernel_suite.cases import case
from tests.differential.kernel_suite.comparing import same
from tests.differential.kernel_suite.elementwise import number_of_thread
from tests.differential.kernel_suite.loops import threads_of_grid
from triptych import cute

BINS = 37
LAUNCH = {"n": st.integers(1, 4000), "block": block_sizes(), "grid": st.integers(1, 6), "seed": SEEDS}


@tt.kernel
def histogram_kernel(x: cute.Tensor, bins: cute.Tensor) -> None:
    """Every element adds to its bin in global memory."""
    for i in range(number_of_thread(), cute.size(x), threads_of_grid()):
        if x[i] >= 0:
            cute.arch.atomic_add(bins.iterator + x[i], bins.element_type(1))


@tt.kernel
def private_histogram_kernel(x: cute.Tensor, bins: cute.Tensor) -> None:
    """A histogram for each block in shared memory, added to the whole one in the end."""
    thread, _, _ = cute.arch.thread_idx()
    threads, _, _ = cute.arch.block_dim()
    private = shared(bins.element_type, BINS)
    for k in range(thread, BINS, threads):
        private[k] = 0
    cute.arch.sync_threads()
    for i in range(number_of_thread(), cute.size(x), threads_of_grid()):
        if x[i] >= 0:
            cute.arch.atomic_add(private.iterator + x[i], bins.element_type(1))
    cute.arch.sync_threads()
    for k in range(thread, BINS, threads):
        cute.arch.atomic_add(bins.iterator + k, private[k])


@tt.kernel
def swapping_histogram_kernel(x: cute.Tensor, bins: cute.Tensor) -> None:
    """An addition made of compare-and-swap: lanes that lose try again."""
    for i in range(number_of_thread(), cute.size(x), threads_of_grid()):
        if x[i] >= 0:
            cell = bins.iterator + x[i]
            seen = bins[x[i]]
            while True:
                before = cute.arch.atomic_cas(cell, cmp=seen, val=seen + 1)
                if before == seen:
                    break
                seen = before


@tt.jit
def histogram(x: cute.Tensor, bins: cute.Tensor, grid: tt.Int32, block: tt.Int32, kernel: tt.Constexpr[Any]) -> None:
    kernel(x, bins).launch(grid=grid, block=block)


def _histogram(kernel: Any, dtype: str, n: int, block: int, grid: int, seed: int) -> None:
    x = np.random.default_rng(seed).integers(-2, BINS, n).astype(np.int32)
    with output(BINS, dtype) as bins:
        bins[:] = 3
        histogram(x, bins, grid, block, kernel)
        same(bins, 3 + np.bincount(x[x >= 0], minlength=BINS))


@case(
    10,
    kernel=st.sampled_from([histogram_kernel, private_histogram_kernel]),
    dtype=st.sampled_from(["int32", "uint64", "float32"]),
    **LAUNCH,
)
def histograms(**drawn: Any) -> None:
    _histogram(**drawn)


@case(8, dtype=st.sampled_from(["int32", "int64"]), **LAUNCH)
def histograms_by_compare_and_swap(**drawn: Any) -> None:
    _histogram(swapping_histogram_kernel, **drawn)


@tt.kernel
def extremes_kernel(x: cute.Tensor, row: cute.Tensor) -> None:
    for i in range(number_of_thread(), cute.size(x), threads_of_grid()):
        value = x[i]
        cute.arch.atomic_max(row.iterator, value)
        cute.arch.atomic_min(row.iterator + 1, value)
        cute.arch.atomic_or(row.iterator + 2, value)
        cute.arch.atomic_and(row.iterator + 3, value)
        cute.arch.atomic_xor(row.iterator + 4, value)


@tt.jit
def extremes(x: cute.Tensor, row: cute.Tensor, grid: tt.Int32, block: tt.Int32) -> None:
    extremes_kernel(x, row).launch(grid=grid, block=block)


@case(12, dtype=st.sampled_from(["int32", "uint32", "int64", "uint64"]), **LAUNCH)
def extremes_and_bits(dtype: str, n: int, block: int, grid: int, seed: int) -> None:
    limits = np.iinfo(dtype)
    x = np.random.default_rng(seed).integers(limits.min, limits.max, n, dtype)
    with output(5, dtype) as row:
        row[:] = [limits.min, limits.max, 0, np.array(-1).astype(dtype), 0]
        extremes(x, row, grid, block)
        bitwise = [reduce(operation, x.tolist()) for operation in (or_, and_, xor)]
        same(row, np.array([x.max(), x.min(), *bitwise], dtype))


@tt.kernel
def queue_kernel(x: cute.Tensor, queue: cute.Tensor, count: cute.Tensor) -> None:
    """Every positive element takes a place of its own."""
    i = number_of_thread()
    if i < cute.size(x) and x[i] > 0:
        queue[cute.arch.atomic_add(count.iterator, 1)] = i


@tt.jit
def enqueue(x: cute.Tensor, queue: cute.Tensor, count: cute.Tensor, block: tt.Int32) -> None:
    queue_kernel(x, queue, count).launch(grid=cute.ceil_div(cute.size(x), block), block=block)


@case(10, n=st.integers(1, 3000), block=block_sizes(), seed=SEEDS)
def places_in_a_queue(n: int, block: int, seed: int) -> None:
    x = whole(seed, n, np.int32, 3)
    wanted = np.flatnonzero(x > 0)
    with output(n, np.int32) as queue, output(1, np.int32) as count:
        count[0] = 0
        enqueue(x, queue, count, block)
        assert count[0] == len(wanted)
        same(np.sort(queue[: len(wanted)]), wanted)
