"""Sums kept as their factors lie in memory, on the CPU: other code, the same numbers, whatever happens in between."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.cute import nvgpu
from triptych.targets.cpu.blocks import blocks
from triptych.targets.cpu.emit import packed_sums

THREADS, ROWS, DEPTH, TILES = 64, 8, 3, 2


@tt.kernel
def products(
    x: cute.Tensor,
    w: cute.Tensor,
    y: cute.Tensor,
    seen: cute.Tensor,
    how: tt.Constexpr[str],
    columns: tt.Constexpr[int],
) -> None:
    """All threads have the rows of `x`; each has some neighbouring columns of `w`, k by k, by way of shared memory."""
    thread, _, _ = cute.arch.thread_idx()
    memory = cute.SmemAllocator()
    rows_layout = cute.make_layout((ROWS, DEPTH))
    shared_x = memory.allocate_tensor(tt.Float32, rows_layout, byte_alignment=64)
    columns_layout = cute.make_layout((columns, THREADS, DEPTH))
    shared_w = memory.allocate_tensor(tt.Float32, columns_layout, byte_alignment=64)
    mma = cute.make_tiled_mma(nvgpu.MmaUniversalOp(tt.Float32))
    left, right = mma.make_fragment_A((1, ROWS)), mma.make_fragment_B((1, columns))
    total = mma.make_fragment_C((1, ROWS, columns))
    total.fill(1.0)
    if tt.const_expr(how == "begun by element"):
        total[0, 2, 1] = 5.0
    for tile in range(TILES):
        cute.arch.sync_threads()
        for k in tt.range_constexpr(DEPTH):
            if thread < ROWS:
                shared_x[thread, k] = x[thread, tile * DEPTH + k]
            for j in tt.range_constexpr(columns):
                shared_w[j, thread, k] = w[thread * columns + j, tile * DEPTH + k]
        cute.arch.sync_threads()
        for k in tt.range_constexpr(DEPTH):
            cute.autovec_copy(shared_x[None, k], left[0, None])
            cute.autovec_copy(shared_w[None, thread, k], right[0, None])
            if tt.const_expr(how == "a factor differs"):
                left[0, 1] = tt.Float32(thread)
            if tt.const_expr(how == "written behind a load"):
                shared_w[0, thread, k] = 100.0
            cute.gemm(mma, total, left, right, total)
            if tt.const_expr(how == "read between" and k == 1):
                seen[thread] = total[0, 1, 1]
            if tt.const_expr(how == "written between" and k == 1):
                total[0, 1, 1] = 7.0
            if tt.const_expr(how == "at run time" and k == 1):
                total[0, thread % ROWS, 1] = 7.0
        if tt.const_expr(how == "in a branch") and thread % 3 == 0:
            total[0, 3, 0] = total[0, 3, 0] + 2.0
        if tt.const_expr(how == "factors are read later"):
            seen[thread] = left[0, 2] + right[0, 0]
    for i in tt.range_constexpr(ROWS):
        for j in tt.range_constexpr(columns):
            y[i, thread * columns + j] = total[0, i, j]


@tt.jit
def run(
    x: cute.Tensor,
    w: cute.Tensor,
    y: cute.Tensor,
    seen: cute.Tensor,
    how: tt.Constexpr[str],
    columns: tt.Constexpr[int],
) -> None:
    products(x, w, y, seen, how, columns).launch(grid=1, block=THREADS)


def expected(x: Any, w: Any, how: str, columns: int) -> tuple[Any, Any]:
    total, seen, thread = np.ones((ROWS, THREADS, columns)), np.zeros(THREADS), np.arange(THREADS)
    if how == "begun by element":
        total[2, :, 1] = 5
    for k in range(TILES * DEPTH):
        left = np.repeat(x[:, k, None], THREADS, axis=1).astype(np.float64)
        right = w[:, k].reshape(THREADS, columns).astype(np.float64)
        if how == "a factor differs":
            left[1] = thread
        total += left[:, :, None] * right
        if how == "read between" and k % DEPTH == 1:
            seen = total[1, :, 1].copy()
        if how == "written between" and k % DEPTH == 1:
            total[1, :, 1] = 7
        if how == "at run time" and k % DEPTH == 1:
            total[thread % ROWS, thread, 1] = 7
        if how == "in a branch" and k % DEPTH == DEPTH - 1:
            total[3, ::3, 0] += 2
        if how == "factors are read later":
            seen = left[2] + right[:, 0]
    return total.reshape(ROWS, THREADS * columns), seen


PACKED = (
    *("plain", "begun by element", "in a branch", "factors are read later", "written behind a load"),
    *("read between", "written between"),
)
NOT_PACKED = ("a factor differs", "at run time")


@pytest.mark.parametrize("columns", [2, 4, 8])
@pytest.mark.parametrize("how", [*PACKED, *NOT_PACKED])
def test_sums_are_right(how: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[packed_sums.PackedSums] = []

    class Noted(packed_sums.PackedSums):
        def __init__(self, *arguments: Any, whole_warps: bool) -> None:
            super().__init__(*arguments, whole_warps=whole_warps)
            made.append(self)

    monkeypatch.setattr(blocks, "PackedSums", Noted)
    draw = np.random.default_rng(columns)
    x = draw.integers(-4, 5, (ROWS, TILES * DEPTH)).astype(np.float32)
    w = draw.integers(-4, 5, (THREADS * columns, TILES * DEPTH)).astype(np.float32)
    y, seen = np.full((ROWS, THREADS * columns), np.nan, np.float32), np.zeros(THREADS, np.float32)
    tt.compile(run, x, w, y, seen, how, columns)(x, w, y, seen)
    total, others = expected(x, w, how, columns)
    np.testing.assert_array_equal(y, total)
    np.testing.assert_array_equal(seen, others)
    if columns == 4:
        assert any(each.slots for each in made) is (how in PACKED)
