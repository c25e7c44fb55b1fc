"""Elements named by arithmetic that is almost, but not, one step for each lane: gathers, scatters, wrapped indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

import triptych as tt
from tests.differential.kernel_suite.arrays import SEEDS, Array, block_sizes, blocks, output
from tests.differential.kernel_suite.arrays import whole_numbers as whole
from tests.differential.kernel_suite.cases import case
from tests.differential.kernel_suite.comparing import same
from triptych import cute

Cast = Callable[[Any, str], Any]

INDICES: dict[str, Callable[[Any, Any, Cast], Any]] = {
    "as it is": lambda t, k, to: t,
    "from an offset": lambda t, k, to: t + k,
    "from the end": lambda t, k, to: 2000 - t - k,
    "every third": lambda t, k, to: 3 * t + k % 3,
    "shared by three": lambda t, k, to: t // 3 + k,
    "remainder": lambda t, k, to: (t + k) % 48,
    "remainder of a negative": lambda t, k, to: (t - k - 5) % 40,
    "quotient of a negative": lambda t, k, to: (k - t) // 7 + 200,
    "exclusive or": lambda t, k, to: t ^ (k & 31),
    "bits cleared": lambda t, k, to: (t + k) & ~6,
    "shifted": lambda t, k, to: ((t << 2) | (t >> 8)) + (k & 3),
    "rows of an odd length": lambda t, k, to: t // 20 * 23 + t % 20,
    "half of them": lambda t, k, to: (t >> 1) + (t & 1) * 1000,
    "wrapped in 8 bits": lambda t, k, to: to(to(t + k, "uint8"), "int32"),
    "wrapped in signed 8 bits": lambda t, k, to: to(to(t + k, "int8"), "int32") + 128,
    "wrapped in 16 bits": lambda t, k, to: to(to(t + 65_500 + k, "uint16"), "int32") % 3000,
    "wrapped in 32 bits": lambda t, k, to: to((to(t, "uint32") + to(k, "uint32") + 4_294_967_000) >> 3, "int64") % 3000,
    "hashed": lambda t, k, to: to((to(t + k, "uint32") * 2_654_435_761) >> 21, "int32"),
    "in 64 bits": lambda t, k, to: to(t, "int64") * 3 - to(k, "int64") + 300,
    "squared": lambda t, k, to: (t * t + k) % 3000,
}
SIZE = 4200


def _traced_cast(value: Any, dtype: str) -> Any:
    return value.to(getattr(tt, dtype.capitalize()))


def _array_cast(value: Any, dtype: str) -> Any:
    return np.asarray(value).astype(dtype)


@tt.kernel
def gather_kernel(x: cute.Tensor, out: cute.Tensor, k: tt.Int32, index: tt.Constexpr[str]) -> None:
    """Row 0: read at the index; row 1: read there by half of the threads only."""
    tx, ty, _ = cute.arch.thread_idx()
    dx, _, _ = cute.arch.block_dim()
    thread = ty * dx + tx
    where = INDICES[index](thread, k, _traced_cast)
    out[0, thread] = x[where]
    if x[where] % 2 == 0:
        out[1, thread] = x[where] + thread
    else:
        out[1, thread] = -1


@tt.jit
def gather(x: cute.Tensor, out: cute.Tensor, k: tt.Int32, bx: tt.Int32, by: tt.Int32, index: tt.Constexpr[str]) -> None:
    gather_kernel(x, out, k, index).launch(grid=1, block=(bx, by, 1))


@tt.jit
def gather_in_a_row(x: cute.Tensor, out: cute.Tensor, k: tt.Int32, bx: tt.Int32, index: tt.Constexpr[str]) -> None:
    gather_kernel(x, out, k, index).launch(grid=1, block=(bx, 1, 1))


def _gathered(launch: Any, index: str, block: tuple[int, ...], k: int, seed: int) -> None:
    x = whole(seed, SIZE, np.int32, 10_000)
    threads = np.arange(np.prod(block), dtype=np.int32)
    expected = x[INDICES[index](threads, np.int32(k), _array_cast)]
    with output((2, len(threads)), np.int32) as out:
        launch(x, out, k, *block, index)
        same(out[0], expected)
        same(out[1], np.where(expected % 2 == 0, expected + threads, -1))


@case(
    10,
    index=st.sampled_from(sorted(INDICES)),
    block=block_sizes().map(lambda n: (n,)),
    k=st.integers(0, 300),
    seed=SEEDS,
)
def gathers(**drawn: Any) -> None:
    _gathered(gather_in_a_row, **drawn)


@case(6, index=st.sampled_from(sorted(INDICES)), block=blocks(2), k=st.integers(0, 300), seed=SEEDS)
def gathers_of_blocks_of_two_dimensions(**drawn: Any) -> None:
    _gathered(gather, **drawn)


@tt.kernel
def scatter_kernel(x: cute.Tensor, out: cute.Tensor, k: tt.Int32, index: tt.Constexpr[str]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    if x[thread] > 0:
        out[INDICES[index](thread, k, _traced_cast)] = x[thread]


@tt.jit
def scatter(x: cute.Tensor, out: cute.Tensor, k: tt.Int32, index: tt.Constexpr[str]) -> None:
    scatter_kernel(x, out, k, index).launch(grid=1, block=cute.size(x))


ONE_TO_ONE = ["as it is", "from an offset", "from the end", "every third", "exclusive or", "half of them", "in 64 bits"]
ONE_TO_ONE += ["shifted", "rows of an odd length"]


def _scattered(x: Array, where: Array) -> Array:
    expected = np.full(SIZE, -7, np.int32)
    expected[where[x > 0]] = x[x > 0]
    return expected


@case(6, index=st.sampled_from(ONE_TO_ONE), block=block_sizes(), k=st.integers(0, 100), seed=SEEDS)
def scatters(index: str, block: int, k: int, seed: int) -> None:
    x = whole(seed, block, np.int32, 1000)
    where = INDICES[index](np.arange(block, dtype=np.int32), np.int32(k), _array_cast)
    with output(SIZE, np.int32) as out:
        out[:] = -7
        scatter(x, out, k, index)
        same(out, _scattered(x, where))
