"""The kernels that are measured: each as it runs in every system, on what, and the result that all must give."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import triptych as tt
from benchmarks.kernel_programs import elementwise, gemm, reductions, rows
from benchmarks.opencl_peer import INDICES, OpenCL

Array = np.ndarray[Any, np.dtype[np.float32]]
Run = Callable[[], object]

OURS = "Triptych"
NUMPY = "NumPy"
PEERS = {number: f"OpenCL, {number} indices" for number in INDICES}
PAGE = 4096
"""Arrays start at pages: the peer copies others."""
FACTOR = 0.5


@dataclass(frozen=True, slots=True)
class Sizes:
    """Elements of vectors, shape of what is treated by rows, side of square matrices."""

    elements: int
    shape: tuple[int, int]
    side: int


FULL = Sizes(1 << 24, (4096, 1024), 1024)
SMALL = Sizes(1 << 16, (64, 1024), 128)


@dataclass(frozen=True, slots=True)
class Problem:
    """What a kernel is to do: `work` in units of which one in a second is one `unit`."""

    name: str
    work: float
    unit: str
    result: Callable[[], Array]
    """Makes the array for a result, as it is before the kernel runs."""
    by_numpy: Callable[[Array], object]
    expected: Array
    tolerance: float
    """Of the largest error, relative to the largest number."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """Our kernel, and how the peer launches its own on the same blocks. The result stands after `inputs`."""

    function: Any
    peer_name: str
    grid: Sequence[int]
    block: Sequence[int]
    inputs: Sequence[Any]
    numbers: Sequence[int]
    peer_numbers: Sequence[int]


@dataclass(frozen=True, slots=True)
class Case:
    """A problem and every system's way to solve it, each into a result of its own."""

    problem: Problem
    systems: dict[str, Run]
    results: dict[str, Array]

    def check(self) -> None:
        """Run every system once and compare."""
        scale = float(np.abs(self.problem.expected).max())
        for system, run in self.systems.items():
            run()
            error = float(np.abs(self.results[system] - self.problem.expected).max()) / scale
            if not error <= self.problem.tolerance:
                raise SystemExit(f"{self.problem.name}: {system} is wrong by {error:.2g}")


def case(problem: Problem, kernel: Kernel, opencl: OpenCL | None) -> Case:
    """All systems there are."""
    results = {OURS: problem.result(), NUMPY: problem.result()}
    arguments = (*kernel.inputs, results[OURS], *kernel.numbers)
    compiled = tt.compile(kernel.function, *arguments)
    systems: dict[str, Run] = {
        OURS: partial(compiled, *arguments),
        NUMPY: partial(problem.by_numpy, results[NUMPY]),
    }
    if opencl is not None:
        for number, system in PEERS.items():
            results[system] = problem.result()
            theirs = (*kernel.inputs, results[system], *kernel.peer_numbers)
            systems[system] = opencl.launcher(kernel.peer_name, number, kernel.grid, kernel.block, theirs)
    return Case(problem, systems, results)


def cases(sizes: Sizes, part_of_name: str, opencl: OpenCL | None) -> Iterator[Case]:
    """One after the other, so that only one keeps its arrays."""
    for make in (
        *(vector_add, saxpy, block_reduction, shuffle_reduction, softmax, rms_norm),
        *(tiled_gemm, register_gemm, register_gemm_transposed, register_gemm_wide),
    ):
        if part_of_name in make.__name__:
            yield case(*make(sizes), opencl)


def zeros(*shape: int) -> Array:
    """That start at a page."""
    size = int(np.prod(shape)) * 4
    memory = np.zeros(size + PAGE, np.uint8)
    start = -memory.ctypes.data % PAGE
    return memory[start : start + size].view(np.float32).reshape(shape)


def random(seed: int, *shape: int) -> Array:
    made = zeros(*shape)
    made[...] = np.random.default_rng(seed).random(shape, np.float32) - np.float32(0.5)
    return made


def vector_add(sizes: Sizes) -> tuple[Problem, Kernel]:
    n, block = sizes.elements, elementwise.THREADS
    a, b = random(1, n), random(2, n)

    def by_numpy(c: Array) -> None:
        np.add(a, b, out=c)

    problem = Problem("vector add", 12e-9 * n, "GB/s", partial(zeros, n), by_numpy, a + b, 0.0)
    return problem, Kernel(elementwise.vector_add, "vector_add", [-(-n // block)], [block], (a, b), (n,), (n,))


def saxpy(sizes: Sizes) -> tuple[Problem, Kernel]:
    n, block = sizes.elements, elementwise.THREADS
    x, y, product = random(1, n), random(2, n), zeros(n)

    def by_numpy(result: Array) -> None:
        np.multiply(x, np.float32(FACTOR), out=product)
        np.add(product, result, out=result)

    expected = np.float32(FACTOR) * x + y
    problem = Problem("saxpy", 12e-9 * n, "GB/s", partial(random, 2, n), by_numpy, expected, 1e-6)
    return problem, Kernel(elementwise.saxpy, "saxpy", [-(-n // block)], [block], (FACTOR, x), (n,), (n,))


def block_reduction(sizes: Sizes) -> tuple[Problem, Kernel]:
    return _reduction("block reduction", reductions.block_reduction, sizes)


def shuffle_reduction(sizes: Sizes) -> tuple[Problem, Kernel]:
    return _reduction("shuffle reduction", reductions.shuffle_reduction, sizes)


def _reduction(name: str, function: Any, sizes: Sizes) -> tuple[Problem, Kernel]:
    n, blocks = sizes.elements, sizes.elements // reductions.CHUNK
    x = random(1, n)
    chunks = x.reshape(blocks, reductions.CHUNK)

    def by_numpy(sums: Array) -> None:
        np.sum(chunks, axis=1, out=sums)

    expected = chunks.sum(axis=1, dtype=np.float64).astype(np.float32)
    problem = Problem(name, 4e-9 * n, "GB/s", partial(zeros, blocks), by_numpy, expected, 1e-5)
    return problem, Kernel(function, function.__name__, [blocks], [reductions.THREADS], (x,), (n,), ())


def softmax(sizes: Sizes) -> tuple[Problem, Kernel]:
    count, columns = sizes.shape
    x = random(1, *sizes.shape)
    x *= 20

    def by_numpy(y: Array) -> None:
        np.subtract(x, x.max(axis=1, keepdims=True), out=y)
        np.exp(y, out=y)
        y /= y.sum(axis=1, keepdims=True)

    exact = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    expected = (exact / exact.sum(axis=1, keepdims=True)).astype(np.float32)
    problem = Problem("softmax", 8e-9 * x.size, "GB/s", partial(zeros, *sizes.shape), by_numpy, expected, 1e-5)
    return problem, Kernel(rows.softmax, "softmax", [count], [rows.THREADS], (x,), sizes.shape, (columns,))


def rms_norm(sizes: Sizes) -> tuple[Problem, Kernel]:
    count, columns = sizes.shape
    x, weight = random(1, *sizes.shape), random(2, columns)

    def by_numpy(y: Array) -> None:
        np.multiply(x, x, out=y)
        scale = 1 / np.sqrt(y.mean(axis=1, keepdims=True) + np.float32(rows.EPSILON))
        np.multiply(x, scale, out=y)
        np.multiply(y, weight, out=y)

    mean = np.square(x, dtype=np.float64).mean(axis=1, keepdims=True)
    expected = (x / np.sqrt(mean + rows.EPSILON) * weight).astype(np.float32)
    problem = Problem("RMSNorm", 8e-9 * x.size, "GB/s", partial(zeros, *sizes.shape), by_numpy, expected, 1e-5)
    return problem, Kernel(rows.rms_norm, "rms_norm", [count], [rows.THREADS], (x, weight), sizes.shape, (columns,))


def tiled_gemm(sizes: Sizes) -> tuple[Problem, Kernel]:
    tile = gemm.TILE
    return _gemm("tiled GEMM", sizes.side, "tiled_gemm", gemm.tiled_gemm, (tile, tile), (tile, tile))


def register_gemm(sizes: Sizes) -> tuple[Problem, Kernel]:
    return _register_gemm("register-tiled GEMM", sizes, "register_gemm", gemm.SQUARE)


def register_gemm_transposed(sizes: Sizes) -> tuple[Problem, Kernel]:
    return _register_gemm("transposed register-tiled GEMM", sizes, "register_gemm_transposed", gemm.TRANSPOSED)


def register_gemm_wide(sizes: Sizes) -> tuple[Problem, Kernel]:
    return _register_gemm("wide register-tiled GEMM", sizes, "register_gemm_wide", gemm.WIDE)


def _register_gemm(name: str, sizes: Sizes, peer_name: str, shape: gemm.Shape) -> tuple[Problem, Kernel]:
    block = (shape.width, shape.height)
    tile = (shape.width * shape.columns, shape.height * shape.rows)
    return _gemm(name, sizes.side, peer_name, gemm.register_tiled(shape), block, tile)


def _gemm(
    name: str, n: int, peer_name: str, function: Any, block: tuple[int, int], tile: tuple[int, int]
) -> tuple[Problem, Kernel]:
    a, b = random(1, n, n), random(2, n, n)

    def by_numpy(c: Array) -> None:
        np.matmul(a, b, out=c)

    expected = (a.astype(np.float64) @ b).astype(np.float32)
    problem = Problem(name, 2e-9 * n**3, "GFLOP/s", partial(zeros, n, n), by_numpy, expected, 1e-5)
    grid = [n // side for side in tile]
    return problem, Kernel(function, peer_name, grid, block, (a, b), (n,), (n,))
