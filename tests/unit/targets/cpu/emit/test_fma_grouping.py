"""Many sums at once on the CPU: another order of operations, the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.cute import nvgpu
from triptych.targets.cpu.emit import fma_grouping, packed_sums

ROWS, COLUMNS, DEPTH = 8, 6, 5


@tt.kernel
def products(x: cute.Tensor, w: cute.Tensor, y: cute.Tensor, seen: cute.Tensor, how: tt.Constexpr[str]) -> None:
    """Every thread multiplies (ROWS, DEPTH) by (COLUMNS, DEPTH), with something in between."""
    thread, _, _ = cute.arch.thread_idx()
    mma = cute.make_tiled_mma(nvgpu.MmaUniversalOp(tt.Float32))
    left, right = mma.make_fragment_A((1, ROWS)), mma.make_fragment_B((1, COLUMNS))
    total = mma.make_fragment_C((1, ROWS, COLUMNS))
    total.fill(1.0)
    if tt.const_expr(how == "written at an address made before"):
        seen[thread] = total[0, thread % ROWS, 1]
        cute.arch.sync_threads()
    if tt.const_expr(how == "factor at an address made before"):
        left.fill(2.0)
        seen[thread] = left[0, thread % ROWS]
    if tt.const_expr(how == "written by another name"):
        chosen = mma.make_fragment_C((1, ROWS, COLUMNS))
        chosen.fill(0.0)
        if thread % 2 == 0:
            chosen = total
        cute.arch.sync_threads()
    for k in tt.range_constexpr(DEPTH):
        for i in tt.range_constexpr(ROWS):
            left[0, i] = x[thread, i, k]
        for j in tt.range_constexpr(COLUMNS):
            right[0, j] = w[thread, j, k]
        if tt.const_expr(how == "doubled" and k == 2):
            left[0, 3] = left[0, 3] * 2.0
        if tt.const_expr(how == "factor at an address made before" and k == 2):
            left[0, thread % ROWS] = 7.0
        cute.gemm(mma, total, left, right, total)
        if tt.const_expr(how == "read" and k == 2):
            seen[thread] = total[0, 1, 1]
        if tt.const_expr(how == "written" and k == 2):
            total[0, 1, 1] = 7.0
        if tt.const_expr(how in ("written at run time", "written at an address made before") and k == 2):
            total[0, thread % ROWS, 1] = 7.0
        if tt.const_expr(how == "written by another name" and k == 2):
            chosen[0, 1, 1] = 7.0
        if tt.const_expr(how == "in a branch" and k == 2) and thread % 2 == 0:
            total[0, 2, 2] = 0.5
            left[0, 1] = 9.0
        if tt.const_expr(how == "factor of a sum" and k == 2):
            left[0, 2] = total[0, 0, 0]
            cute.gemm(mma, total, left, right, total)
    for i in tt.range_constexpr(ROWS):
        for j in tt.range_constexpr(COLUMNS):
            y[thread, i, j] = total[0, i, j]


@tt.jit
def run(x: cute.Tensor, w: cute.Tensor, y: cute.Tensor, seen: cute.Tensor, how: tt.Constexpr[str]) -> None:
    products(x, w, y, seen, how).launch(grid=1, block=x.shape[0])


def expected(x: Any, w: Any, how: str) -> tuple[Any, Any]:
    total, seen = np.ones((len(x), ROWS, COLUMNS)), np.zeros(len(x))
    threads = np.arange(len(x))
    if how.endswith("made before"):
        seen = np.full(len(x), 1 if how.startswith("written") else 2)
    for k in range(DEPTH):
        left, right = x[:, :, k].astype(np.float64), w[:, :, k].astype(np.float64)
        if how == "doubled" and k == 2:
            left[:, 3] *= 2
        if how == "factor at an address made before" and k == 2:
            left[threads, threads % ROWS] = 7
        total += left[:, :, None] * right[:, None, :]
        if k != 2:
            continue
        if how == "read":
            seen = total[:, 1, 1].copy()
        elif how == "written":
            total[:, 1, 1] = 7
        elif how in ("written at run time", "written at an address made before"):
            total[threads, threads % ROWS, 1] = 7
        elif how == "written by another name":
            total[::2, 1, 1] = 7
        elif how == "in a branch":
            total[::2, 2, 2] = 0.5
        elif how == "factor of a sum":
            left[:, 2] = total[:, 0, 0]
            total += left[:, :, None] * right[:, None, :]
    return total, seen


CASES = {
    "plain": True,
    "doubled": True,
    "read": False,
    "written": False,
    "written at run time": False,
    "written at an address made before": False,
    "factor at an address made before": False,
    "written by another name": False,
    "in a branch": False,
    "factor of a sum": False,
}
"""Whether the sums of a case may be put into another order."""


@pytest.mark.parametrize("how", CASES)
def test_sums_are_the_same_in_any_order(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reordered = []

    def observed(found: Any) -> Any:
        made = fma_grouping.groups_of(found)
        if any(operation.name == fma_grouping.SUM for operation in found):
            reordered.append(made is not None)
        return made

    monkeypatch.setattr(packed_sums, "groups_of", observed)
    random = np.random.default_rng(1)
    x = random.integers(-3, 4, (40, ROWS, DEPTH)).astype(np.float32)
    w = random.integers(-3, 4, (40, COLUMNS, DEPTH)).astype(np.float32)
    y, seen = np.full((40, ROWS, COLUMNS), np.nan, np.float32), np.zeros(40, np.float32)
    run(x, w, y, seen, how)
    total, read = expected(x, w, how)
    np.testing.assert_array_equal(y, total)
    np.testing.assert_array_equal(seen, read)
    assert any(reordered) == CASES[how]
