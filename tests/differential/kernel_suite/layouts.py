"""Shared memory of any static layout: nested modes, any order of strides, gaps, swizzles, by the layout's own law."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st

import triptych as tt
from tests.differential.kernel_suite.arrays import SEEDS, output
from tests.differential.kernel_suite.arrays import whole_numbers as whole
from tests.differential.kernel_suite.cases import case
from tests.differential.kernel_suite.comparing import same
from triptych import cute

PLACES = 1024


@st.composite
def layouts(draw: st.DrawFn) -> Any:
    """A layout that gives every coordinate an element of its own, below PLACES."""
    extents = draw(st.lists(st.integers(1, 6), min_size=2, max_size=4).filter(lambda e: math.prod(e) <= 200))
    strides = [0] * len(extents)
    step = 1
    for mode in draw(st.permutations(range(len(extents)))):
        strides[mode] = step
        step = step * extents[mode] + draw(st.integers(0, 1))
    nested = draw(st.booleans())
    shape = (extents[0], tuple(extents[1:])) if nested else tuple(extents)
    stride = (strides[0], tuple(strides[1:])) if nested else tuple(strides)
    layout = cute.Layout(shape, stride)
    if not draw(st.booleans()):
        return layout
    swizzle = cute.Swizzle(draw(st.integers(1, 3)), draw(st.integers(0, 2)), draw(st.integers(3, 4)))
    return cute.ComposedLayout(swizzle, draw(st.sampled_from([0, 5])), layout)


@tt.kernel
def places_kernel(x: cute.Tensor, memory: cute.Tensor, back: cute.Tensor, layout: tt.Constexpr[Any]) -> None:
    """Row 0 of `back` by linear indices, row 1 by coordinates; `memory` is what lies in memory."""
    thread, _, _ = cute.arch.thread_idx()
    threads, _, _ = cute.arch.block_dim()
    flat = cute.SmemAllocator().allocate_tensor(tt.Int32, cute.make_layout(PLACES), 1024)
    tensor = cute.make_tensor(flat.iterator, layout)
    for i in range(thread, PLACES, threads):
        flat[i] = -1
    cute.arch.sync_threads()
    for i in range(thread, cute.size(tensor), threads):
        tensor[i] = x[i]
    cute.arch.sync_threads()
    for i in range(thread, PLACES, threads):
        memory[i] = flat[i]
    for i in range(thread, cute.size(tensor), threads):
        back[0, i] = tensor[i]
        back[1, i] = tensor[cute.idx2crd(i, tensor.shape)]


@tt.jit
def places(x: cute.Tensor, memory: cute.Tensor, back: cute.Tensor, block: tt.Int32, layout: tt.Constexpr[Any]) -> None:
    places_kernel(x, memory, back, layout).launch(grid=1, block=block)


@case(5, layout=layouts(), block=st.integers(1, 300), seed=SEEDS)
def elements_lie_where_the_layout_says(layout: Any, block: int, seed: int) -> None:
    size = cute.size(layout)
    x = whole(seed, size, np.int32, 1000)
    expected = np.full(PLACES, -1, np.int32)
    expected[[layout(i) for i in range(size)]] = x
    with output(PLACES, np.int32) as memory, output((2, size), np.int32) as back:
        places(x, memory, back, block, layout)
        same(memory, expected)
        same(back, [x, x])
