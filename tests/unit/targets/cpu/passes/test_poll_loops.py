"""Host loops that are cut into stretches: they count what they counted before, and LLVM still makes vectors of them."""

from __future__ import annotations

import platform
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import triptych as tt
from triptych import cute

EDGE = 1 << 16
NEAR_EDGES = st.sampled_from([0, 1, EDGE, 2 * EDGE, 3 * EDGE]).flatmap(lambda n: st.integers(n - 3, n + 3))


@tt.jit
def counted(start: tt.Int32, stop: tt.Int32) -> Any:
    count: Any = tt.Int32(0)
    last: Any = tt.Int32(-1)
    for i in range(start, stop):
        count += 1
        last = i
    return count, last


@tt.jit
def stepped(start: tt.Int64, stop: tt.Int64, step: tt.Int64) -> Any:
    count: Any = tt.Int64(0)
    last: Any = tt.Int64(-1)
    for i in range(start, stop, step):
        count += 1
        last = i
    return count, last


@tt.jit
def left_early(stop: tt.Int32, end: tt.Int32) -> Any:
    found: Any = tt.Int32(-1)
    seen: Any = tt.Int32(0)
    for i in range(stop):
        seen += 1
        if i == end:
            found = i
            break
    return found, seen


@tt.jit
def counted_down(n: tt.Int32) -> Any:
    count = tt.Int32(0)
    while n > 0:
        n -= 1
        count += 1
    return count, n


@tt.jit
def counted_up(n: tt.Int32, step: tt.Constexpr[int]) -> Any:
    i, count = tt.Int32(0), tt.Int32(0)
    while i < n:
        i += step
        count += 1
    return i, count


@tt.jit
def effect_in_test(a: cute.Tensor, n: tt.Int32) -> Any:
    count = tt.Int32(0)
    while advanced(a) < n:
        count += 1
    return count


def advanced(a: Any) -> Any:
    a[0] = a[0] + 1
    return a[0]


@tt.jit
def total(a: cute.Tensor, n: tt.Int32) -> Any:
    result, i = tt.Int32(0), tt.Int32(0)
    while i < n:
        result += a[i]
        i += 1
    return result


@tt.jit
def total_of_range(a: cute.Tensor, n: tt.Int32) -> Any:
    result = tt.Int32(0)
    for i in range(n):
        result += a[i]
    return result


@settings(deadline=None)
@given(start=st.integers(-70_000, 70_000), count=NEAR_EDGES)
def test_ranges(start: int, count: int) -> None:
    values = range(start, start + count)
    assert counted(start, start + count) == (len(values), values[-1] if values else -1)


@pytest.mark.parametrize("start", [-(2**31), 2**31 - 1 - EDGE])
def test_ranges_at_the_ends_of_the_type(start: int) -> None:
    assert counted(start, start + EDGE) == (EDGE, start + EDGE - 1)


@settings(deadline=None)
@given(count=NEAR_EDGES, step=st.integers(-5, 5).filter(bool), start=st.integers(-(2**40), 2**40))
def test_ranges_with_steps(count: int, step: int, start: int) -> None:
    values = range(start, start + count * step, step)
    assert stepped(start, start + count * step, step) == (len(values), values[-1] if values else -1)


@settings(deadline=None)
@given(stop=NEAR_EDGES, end=NEAR_EDGES)
def test_loops_that_are_left_early(stop: int, end: int) -> None:
    reached = 0 <= end < stop
    assert left_early(stop, end) == (end if reached else -1, end + 1 if reached else max(stop, 0))


@settings(deadline=None)
@given(n=NEAR_EDGES)
def test_loops_with_a_condition(n: int) -> None:
    assert counted_down(n) == (max(n, 0), min(n, 0))
    a = np.zeros(1, np.int32)
    assert effect_in_test(a, n) == max(n - 1, 0)
    assert a[0] == max(n, 1)


@settings(deadline=None)
@given(n=NEAR_EDGES, step=st.sampled_from([1, 3, 70_000]))
def test_loops_that_count_by_themselves(n: int, step: int) -> None:
    count = -(-max(n, 0) // step)
    assert counted_up(n, step) == (count * step, count)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names of registers of x86")
@pytest.mark.parametrize("function", [total, total_of_range])
def test_loops_stay_vectors(function: Any) -> None:
    a = np.arange(200_003, dtype=np.int32)
    assert function(a, a.size) == np.int32(a.sum(dtype=np.int32))
    assert re.search(r"padd\w*\s.*%[xyz]mm", function.compile(a, 1).asm)
