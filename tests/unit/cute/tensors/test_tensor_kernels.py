"""Elementwise kernels in the ways they are written: by index, by tiles, by threads and values; static and dynamic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.cute.runtime import from_dlpack


@cute.kernel
def add_by_index(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    threads, _, _ = cute.arch.block_dim()
    i = block * threads + thread
    rows, columns = a.shape
    if i < rows * columns:
        where = i // columns, i % columns
        c[where] = a[where] + b[where]


@cute.jit
def by_index(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    add_by_index(a, b, c).launch(grid=cute.ceil_div(cute.size(a), 128), block=128)


@cute.kernel
def add_tiles(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    threads, _, _ = cute.arch.block_dim()
    i = block * threads + thread
    rows, columns = a.shape[1]
    if i < rows * columns:
        tile = (None, None), (i // columns, i % columns)
        c[tile] = a[tile].load() + b[tile].load()


@cute.jit
def by_tiles(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    tiled = [cute.zipped_divide(t, (1, 4)) for t in (a, b, c)]
    add_tiles(*tiled).launch(grid=cute.ceil_div(cute.size(tiled[0], mode=[1]), 64), block=64)


@cute.kernel
def add_by_threads_and_values(
    a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, inside: cute.Tensor, shape: cute.Shape, tv: cute.Layout
) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    mine = [cute.composition(t[(None, None), block], tv)[thread, None] for t in (a, b, c, inside)]
    registers = cute.make_fragment_like(mine[2])
    for k in tt.range_constexpr(cute.size(registers)):
        if cute.elem_less(mine[3][k], shape):
            registers[k] = mine[0][k] + mine[1][k]
            mine[2][k] = registers[k]


@cute.jit
def by_threads_and_values(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    tile, tv = cute.make_layout_tv(cute.make_layout((4, 32), stride=(32, 1)), cute.make_layout((4, 4), stride=(4, 1)))
    tiled = [cute.zipped_divide(t, tile) for t in (a, b, c, cute.make_identity_tensor(c.shape))]
    launched = add_by_threads_and_values(*tiled, c.shape, tv)
    launched.launch(grid=cute.size(tiled[2], mode=[1]), block=cute.size(tv, mode=[0]))


@pytest.mark.parametrize("static", [False, True], ids=["dynamic", "static"])
@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (by_index, (37, 53)),
        (by_tiles, (16, 256)),
        (by_tiles, (5, 12)),
        (by_threads_and_values, (64, 256)),
        (by_threads_and_values, (37, 130)),
    ],
    ids=str,
)
def test_elementwise(function: Any, shape: tuple[int, int], static: bool) -> None:
    random = np.random.default_rng(3)
    a, b = (random.random(shape, np.float32) for _ in range(2))
    c = np.zeros(shape, np.float32)
    function(*(from_dlpack(t) for t in (a, b, c)) if static else (a, b, c))
    assert (c == a + b).all()
