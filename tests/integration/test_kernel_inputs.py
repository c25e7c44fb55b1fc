"""Inputs that programs meet sooner or later: NaN and infinities, nothing at all, and arrays that are views."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import triptych as tt
from triptych import cute
from triptych.cute.runtime import from_dlpack
from triptych.support.config import override

Array = np.ndarray[Any, Any]


@pytest.fixture(autouse=True, params=["", "bounds"], scope="module")
def build(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every build gives the same results."""
    with override(debug=request.param):
        yield


# NaN and infinities ---------------------------------------------------------------------------------------------------
ORDINARY = [0.0, -0.0, 1.0, -1.5, 3.25, 100.0]
SPECIAL = [np.inf, -np.inf, np.nan]


def numbers(dtype: Any) -> tuple[Array, Array]:
    """Every pair of special numbers: those above, the least, the smallest normal and the largest of a type."""
    info = np.finfo(dtype)
    some = np.array([*ORDINARY, *SPECIAL, info.smallest_subnormal, -info.smallest_normal, info.max, info.min], dtype)
    left, right = np.meshgrid(some, some)
    return left.ravel().copy(), right.ravel().copy()


@tt.kernel
def apply(function: tt.Constexpr[Any], a: cute.Tensor, b: cute.Tensor, out: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * 64 + thread
    if i < out.shape[0]:
        out[i] = function(a[i], b[i])


@tt.jit
def applied(function: tt.Constexpr[Any], a: cute.Tensor, b: cute.Tensor, out: cute.Tensor) -> None:
    apply(function, a, b, out).launch(grid=(out.shape[0] + 63) // 64, block=64)


def same(found: Array, expected: Array) -> bool:
    """Equal, with the sign of zero; a NaN is a NaN."""
    both_nan = np.isnan(found) & np.isnan(expected)
    return bool((both_nan | ((found == expected) & (np.signbit(found) == np.signbit(expected)))).all())


ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv]
COMPARISONS = [operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("function", ARITHMETIC, ids=lambda function: function.__name__)
def test_arithmetic_is_that_of_ieee(function: Any, dtype: Any) -> None:
    a, b = numbers(dtype)
    out = np.zeros_like(a)
    applied(function, a, b, out)
    with np.errstate(all="ignore"):
        assert same(out, function(a, b))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("function", COMPARISONS, ids=lambda function: function.__name__)
def test_nothing_compares_with_nan(function: Any, dtype: Any) -> None:
    a, b = numbers(dtype)
    out = np.zeros(len(a), np.int32)
    applied(lambda x, y: 1 if function(x, y) else 0, a, b, out)
    assert (out == function(a, b)).all()


@pytest.mark.parametrize(("ours", "theirs"), [(cute.arch.fmax, np.fmax), (cute.arch.fmin, np.fmin)])
def test_extremes_prefer_numbers(ours: Any, theirs: Any) -> None:
    a, b = numbers(np.float32)
    out = np.zeros_like(a)
    applied(ours, a, b, out)
    expected = theirs(a, b)
    assert ((out == expected) | (np.isnan(out) & np.isnan(expected))).all()


@pytest.mark.parametrize("name", ["sqrt", "exp", "log", "tanh"])
def test_functions_at_the_edges(name: str) -> None:
    a = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0], np.float32)
    out = np.zeros_like(a)
    function = getattr(cute.math, name)
    applied(lambda x, _: function(x), a, a, out)
    with np.errstate(all="ignore"):
        assert same(out, getattr(np, name)(a))


def test_conversion_to_integers_keeps_to_their_range() -> None:
    a = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38, 2.75, -2.75], np.float32)
    out = np.zeros(len(a), np.int32)
    applied(lambda x, _: x.to(tt.Int32), a, a, out)
    low, high = np.iinfo(np.int32).min, np.iinfo(np.int32).max
    assert out.tolist() == [0, high, low, high, low, 2, -2]


# nothing at all -------------------------------------------------------------------------------------------------------
@tt.kernel
def double(a: cute.Tensor, out: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    for column in range(thread, a.shape[1], 32):
        out[row, column] = a[row, column] * 2.0


@tt.jit
def doubled(a: cute.Tensor, out: cute.Tensor) -> None:
    double(a, out).launch(grid=a.shape[0], block=32)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0), (1, 0)])
@pytest.mark.parametrize("as_tensor", [lambda a: a, from_dlpack], ids=["dynamic", "static"])
def test_tensor_without_elements(shape: tuple[int, int], as_tensor: Any) -> None:
    doubled(as_tensor(np.zeros(shape, np.float32)), as_tensor(np.zeros(shape, np.float32)))


@tt.kernel
def count(cell: cute.Tensor) -> None:
    cute.arch.atomic_add(cell.iterator, 1)


@tt.jit
def counted(cell: cute.Tensor, x: tt.Int32, y: tt.Int32, z: tt.Int32) -> None:
    count(cell).launch(grid=(x, y, z), block=(3, 5))


@tt.jit
def counted_nowhere(cell: cute.Tensor, grid: tt.Constexpr[Any]) -> None:
    count(cell).launch(grid=grid, block=32)


@pytest.mark.parametrize("grid", [(0, 1, 1), (4, 0, 2), (2, 3, 0), (0, 0, 0), (2, 3, 4)])
def test_grid_without_blocks_runs_nothing(grid: tuple[int, int, int]) -> None:
    cell = np.zeros(1, np.int32)
    counted(cell, *grid)
    assert cell[0] == np.prod(grid) * 15
    if 0 in grid:
        counted_nowhere(cell, grid)
        assert cell[0] == 0


# views ----------------------------------------------------------------------------------------------------------------
BASE = np.arange(41 * 53, dtype=np.float32).reshape(41, 53)


@st.composite
def views(draw: st.DrawFn) -> Array:
    """A matrix that lies in memory as it happens: steps, transposed, some modes of step 0."""
    slices = [slice(draw(st.integers(0, n)), draw(st.integers(0, n)), draw(st.integers(1, 4))) for n in BASE.shape]
    view = BASE[tuple(slices)]
    if draw(st.booleans()):
        view = view.T
    for mode in range(2):
        if draw(st.booleans()) and view.shape[mode]:
            single = view[:1] if mode == 0 else view[:, :1]
            wanted = list(view.shape)
            wanted[mode] = draw(st.integers(1, 40))
            view = np.broadcast_to(single, wanted)
    return view


@given(view=views(), transposed=st.booleans(), step=st.integers(1, 3))
def test_any_view_may_be_read_and_written(view: Array, transposed: bool, step: int) -> None:
    rows, columns = view.shape
    memory = np.full((columns, rows * step) if transposed else (rows, columns * step), -1.0, np.float32)
    out = memory[:, ::step].T if transposed else memory[:, ::step]
    doubled(view, out)
    assert (out == 2 * view).all()
    assert (memory == -1).sum() == memory.size - out.size


def test_reversed_array_of_a_known_layout() -> None:
    view = BASE[::-2, ::-1]
    out = np.zeros(view.shape, np.float32)
    doubled(from_dlpack(view), from_dlpack(out))
    assert (out == 2 * view).all()


def test_threads_may_write_the_same_number_to_one_place() -> None:
    cells = np.zeros(53, np.float32)
    repeated = np.lib.stride_tricks.as_strided(cells, (7, 53), (0, 4))
    doubled(np.broadcast_to(BASE[3], (7, 53)), repeated)
    assert (cells == 2 * BASE[3]).all()
