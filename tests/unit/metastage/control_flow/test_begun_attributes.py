"""Attributes that an object gets in a branch or loop: they end with it, and nobody sees whether they were there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import triptych as tt
from triptych.metastage.trace.errors import DynamicMutationError, LeakedValueError


class Box:
    x: Any
    y: Any
    d: Any

    def __init__(self) -> None:
        self.a = 1

    def fill(self, n: Any) -> None:
        self.d = {}
        self.d["k"] = n


def used_in_the_region(n: Any) -> Any:
    box = Box()
    total = n - n
    if n > 3:
        box.x = n * 2
        box.fill(n)
        for i in range(n):
            box.y = i + 1
            total += box.y + box.x
            box.x = box.x + 1
        total += box.d["k"]
    else:
        box.x = n
        total = total + box.x
    return total


def test_it_is_an_attribute_as_long_as_the_region_runs() -> None:
    assert [tt.jit(used_in_the_region)(n) for n in range(8)] == [used_in_the_region(n) for n in range(8)]


def read_after(box: Box, n: Any) -> Any:
    if n > 3:
        box.x = n
    return box.x


def asked_after(box: Box, n: Any) -> Any:
    if n > 3:
        box.x = n
    return hasattr(box, "x")


def seen_as_a_whole(box: Box, n: Any) -> Any:
    if n > 3:
        box.x = n
    return len(vars(box))


def asked_in_the_next_iteration(box: Box, n: Any) -> Any:
    total = n - n
    for i in range(n):
        if not hasattr(box, "x"):
            box.x = i + 5
        total += box.x
    return total


@pytest.mark.parametrize("use", [read_after, asked_after, seen_as_a_whole, asked_in_the_next_iteration])
def test_what_depends_on_the_run_is_refused(use: Callable[[Box, Any], Any]) -> None:
    @tt.jit
    def asks(n: tt.Int32) -> Any:
        return use(Box(), n)

    with pytest.raises(DynamicMutationError, match=r"`Box.x` may not exist here|assigning the attribute `x`"):
        asks(5)


@tt.jit
def named(n: tt.Int32) -> Any:
    total = tt.Int32(0)
    for i in range(n):

        def double(j: Any) -> Any:
            return j * 2

        double.__name__ = "double_in_a_loop"
        total += double(i)
    return total


def test_a_function_that_a_loop_defines_is_its_own() -> None:
    assert named(4) == 12


class Holder:
    items: Any
    box: Any


@tt.jit
def kept(holder: tt.Constexpr[Any], n: tt.Int32) -> Any:
    holder.items = {}
    holder.items["n"] = n
    holder.box = Box()
    holder.box.fill(n * 2)
    return holder.items["n"] + holder.box.d["k"]


def test_containers_with_run_time_values_end_with_the_call() -> None:
    holder = Holder()
    assert kept(holder, 3) == 9
    for left in (holder.items, holder.box.d):
        with pytest.raises(LeakedValueError, match="of a call of kept that has ended"):
            left["n"]
