"""Arrays for kernels: inputs of all strides, outputs between guards, and values on which float arithmetic is exact."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

Array = NDArray[Any]
MARGIN = 67
"""Guard elements on each side of an output: more than a warp, so that a masked store of a warp cannot jump over."""

MEMORY = st.sampled_from(["contiguous", "transposed", "sliced", "broadcast"])
WRITABLE = st.sampled_from(["contiguous", "transposed", "sliced"])
SEEDS = st.integers(0, 2**16)


def block_sizes(most: int = 1024) -> st.SearchStrategy[int]:
    """Threads of a block: any number, and often one beside a warp's end."""
    beside = [n for warps in (32, 64, 128, 256, 1024) for n in (warps - 1, warps, warps + 1) if n <= most]
    return st.one_of(st.integers(1, most), st.sampled_from([1, 2, *beside]))


def blocks(rank: int = 3, most: int = 1024) -> st.SearchStrategy[tuple[int, ...]]:
    """The dimensions of a block: any, with at most `most` threads together."""

    @st.composite
    def dimensions(draw: st.DrawFn) -> tuple[int, ...]:
        chosen: list[int] = []
        for axis in range(rank):
            room = most // math.prod(chosen)
            chosen.append(draw(st.integers(1, min(room, 64 if axis == 2 else 1024))))
        return tuple(chosen)

    return dimensions()


def shapes(rank: int, most: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.tuples(*[st.integers(1, most)] * rank)


def whole_numbers(seed: int, shape: Any, dtype: Any, most: int = 7) -> Array:
    """Small integers in any element type: sums and products of a few are exact."""
    least = 0 if np.dtype(dtype).kind == "u" else -most
    values: Array = np.random.default_rng(seed).integers(least, most + 1, shape).astype(dtype)
    return values


def laid_out(values: Array, memory: str) -> Array:
    """An array equal to `values` (but for broadcasting, which repeats its first row) with other strides."""
    match memory:
        case "transposed":
            return np.asfortranarray(values)
        case "sliced":
            wide = np.zeros([2 * extent + 3 for extent in values.shape], values.dtype)
            inside = wide[tuple(slice(3, 3 + 2 * extent, 2) for extent in values.shape)]
            inside[...] = values
            return inside
        case "broadcast":
            return _writable_broadcast(values)
        case _:
            return np.ascontiguousarray(values)


def _writable_broadcast(values: Array) -> Array:
    """The first row over and over; kernels take writable arrays only."""
    row = np.ascontiguousarray(values[:1])
    return np.ndarray(values.shape, values.dtype, row.view(np.uint8).data, strides=(0, *row.strides[1:]))


@contextmanager
def output(shape: Any, dtype: Any, memory: str = "contiguous") -> Iterator[Array]:
    """An output whose surroundings, and gaps between elements, must be untouched when the kernel is done."""
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    spread = 2 if memory == "sliced" else 1
    order = extents[::-1] if memory == "transposed" else extents
    size = math.prod(extent * spread for extent in order)
    buffer = np.full(size + 2 * MARGIN, 85, dtype)
    whole = buffer[MARGIN : MARGIN + size].reshape([extent * spread for extent in order])
    view = whole[(slice(None, None, spread),) * len(order)]
    yield view.T if memory == "transposed" else view
    view[...] = np.array(85).astype(dtype)
    assert (buffer == np.array(85).astype(dtype)).all(), "the kernel wrote outside of its output"
