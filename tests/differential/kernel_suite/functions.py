"""Kernels made of functions: helpers with early returns, classes resolved while tracing, aggregates as arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import triptych as tt
from tests.differential.kernel_suite.arrays import SEEDS, block_sizes, output
from tests.differential.kernel_suite.arrays import whole_numbers as whole
from tests.differential.kernel_suite.cases import case
from tests.differential.kernel_suite.comparing import same
from tests.differential.kernel_suite.elementwise import number_of_thread
from triptych import cute


# helpers that return early --------------------------------------------------------------------------------------------
@tt.jit
def find(x: Any, wanted: Any, first: Any, last: Any) -> Any:
    """The place of a number in a sorted stretch, or -1 - the place where it would be."""
    low, high = first, last
    while low < high:
        middle = (low + high) // 2
        if x[middle] == wanted:
            return middle
        if x[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return -1 - low


@tt.jit
def classify(value: Any) -> Any:
    if value < 0:
        return -1
    if value % 2 == 0:
        if value % 3 == 0:
            return 6
        return 2
    for divisor in range(3, 10, 2):
        if value % divisor == 0:
            return divisor
    return 0


@tt.kernel
def search_kernel(table: cute.Tensor, x: cute.Tensor, places: cute.Tensor, classes: cute.Tensor) -> None:
    i = number_of_thread()
    if i < cute.size(x):
        places[i] = find(table, x[i], tt.Int32(0), tt.Int32(cute.size(table)))
        classes[i] = classify(x[i])


@tt.jit
def search(table: cute.Tensor, x: cute.Tensor, places: cute.Tensor, classes: cute.Tensor, block: tt.Int32) -> None:
    search_kernel(table, x, places, classes).launch(grid=cute.ceil_div(cute.size(x), block), block=block)


def _classified(value: int) -> int:
    if value < 0:
        return -1
    if value % 2 == 0:
        return 6 if value % 3 == 0 else 2
    return next((divisor for divisor in range(3, 10, 2) if value % divisor == 0), 0)


@case(10, size=st.integers(1, 300), n=st.integers(1, 700), block=block_sizes(), seed=SEEDS)
def helpers_that_return_early(size: int, n: int, block: int, seed: int) -> None:
    table = np.unique(whole(seed, size, np.int32, 500))
    x = whole(seed + 1, n, np.int32, 500)
    place = np.searchsorted(table, x).astype(np.int32)
    found = table[np.minimum(place, len(table) - 1)] == x
    with output(n, np.int32) as places, output(n, np.int32) as classes:
        search(table, x, places, classes, block)
        same(places, np.where(found, place, -1 - place))
        same(classes, [_classified(int(value)) for value in x])


# classes and aggregates -----------------------------------------------------------------------------------------------
class Epilogue:
    """What happens to a result; a subclass is chosen while tracing."""

    def apply(self, x: Any) -> Any:
        return x


class Clamp(Epilogue):
    def apply(self, x: Any) -> Any:
        return x if x > 0 else 0


@dataclass(frozen=True)
class Affine(Epilogue):
    factor: int
    offset: int = 1

    def apply(self, x: Any) -> Any:
        return super().apply(x * self.factor + self.offset)


class Window(NamedTuple):
    """A stretch of a vector as one value."""

    begin: Any
    end: Any


@dataclass
class Pair:
    """Two tensors and a number, passed to a kernel together."""

    left: Any
    right: Any
    weight: Any


@tt.jit
def shrunk(window: Window, by: Any) -> Window:
    if window.end - window.begin > 2 * by:
        return Window(window.begin + by, window.end - by)
    return window


@tt.kernel
def combine_kernel(pair: Pair, out: cute.Tensor, window: Window, epilogue: tt.Constexpr[Any]) -> None:
    i = number_of_thread()
    inner = shrunk(window, i % 5)
    if i < cute.size(out):
        total = pair.left[i]
        for k in range(inner.begin, inner.end):
            total += pair.right[k] * pair.weight
        out[i] = epilogue.apply(total)


@tt.jit
def combine(
    left: cute.Tensor,
    right: cute.Tensor,
    out: cute.Tensor,
    window: Window,
    weight: tt.Int32,
    block: tt.Int32,
    epilogue: tt.Constexpr[Any],
) -> None:
    grid = cute.ceil_div(cute.size(out), block)
    combine_kernel(Pair(left, right, weight), out, window, epilogue).launch(grid=grid, block=block)


@case(
    10,
    epilogue=st.sampled_from([Epilogue(), Clamp(), Affine(3), Affine(-2, 7)]),
    n=st.integers(1, 600),
    ends=st.tuples(st.integers(0, 20), st.integers(0, 20)).map(sorted),
    weight=st.integers(-3, 3),
    block=block_sizes(),
    seed=SEEDS,
)
def classes_and_aggregates(epilogue: Any, n: int, ends: Any, weight: int, block: int, seed: int) -> None:
    left, right = whole(seed, n, np.int32, 50), whole(seed + 1, 20, np.int32, 50)
    begin, end = ends
    sums = []
    for by in range(5):
        inner = slice(begin + by, end - by) if end - begin > 2 * by else slice(begin, end)
        sums.append(int(right[inner].sum()) * weight)
    total = left + np.array(sums)[np.arange(n) % 5]
    with output(n, np.int32) as out:
        combine(left, right, out, Window(begin, end), weight, block, epilogue)
        same(out, [epilogue.apply(int(value)) for value in total])
