"""Changing Python objects while tracing: as in Python, or refused where it would happen once and not at run time."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

import triptych as tt
from triptych.metastage.trace.errors import CarriedTypeError, DynamicMutationError


class Box:
    """An object with an attribute."""

    value = 0


def subclass_append(items: Any) -> None:
    items.append(1)


class Items(list[int]):
    """A list of its own kind."""


CHANGES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "append": (list, lambda items: items.append(1)),
    "extend": (list, lambda items: items.extend([1])),
    "unbound append": (list, lambda items: list.append(items, 1)),
    "subclass append": (Items, subclass_append),
    "sort": (lambda: [2, 1], lambda items: items.sort()),
    "pop": (lambda: [1], lambda items: items.pop()),
    "dict update": (dict, lambda table: table.update(a=1)),
    "setdefault": (dict, lambda table: table.setdefault("a", 1)),
    "defaultdict": (lambda: defaultdict(int), lambda table: table.update(a=1)),
    "OrderedDict": (OrderedDict, lambda table: table.update(a=1)),
    "set add": (set, lambda names: names.add("a")),
    "deque": (deque, lambda queue: queue.append(1)),
    "bytearray": (bytearray, lambda data: data.append(1)),
    "setattr": (Box, lambda box: setattr(box, "value", 1)),
}


def item_assignment(table: Any) -> None:
    table["a"] = 1


def item_deletion(table: Any) -> None:
    del table["a"]


def attribute_assignment(box: Any) -> None:
    box.value = 1


def augmented_attribute(box: Any) -> None:
    box.value += 1


def augmented_list(items: Any) -> None:
    items += [1]


CHANGES |= {
    "item assignment": (dict, item_assignment),
    "item deletion": (lambda: {"a": 1}, item_deletion),
    "attribute": (Box, attribute_assignment),
    "augmented attribute": (Box, augmented_attribute),
    "augmented list": (list, augmented_list),
}
each_change = pytest.mark.parametrize("name", CHANGES)


@each_change
def test_object_from_outside_cannot_change_in_a_branch(name: str) -> None:
    make, change = CHANGES[name]
    outside = make()

    def program(n: Any) -> Any:
        if n > 0:
            change(outside)
        return n

    with pytest.raises(DynamicMutationError):
        tt.compile(program, 1)


@each_change
def test_object_from_outside_cannot_change_in_a_loop(name: str) -> None:
    make, change = CHANGES[name]

    def program(n: Any) -> Any:
        made = make()
        for _ in range(n):
            change(made)
        return n

    with pytest.raises(DynamicMutationError):
        tt.compile(program, 1)


@each_change
def test_object_may_change_where_the_path_is_known(name: str) -> None:
    make, change = CHANGES[name]

    def program(n: Any) -> Any:
        made = make()
        if tt.const_expr(True):
            change(made)
        return n

    assert tt.compile(program, 1)(5) == 5


def test_object_made_in_a_branch_may_change_in_it() -> None:
    def program(n: Any) -> Any:
        total = n
        if n > 0:
            items = [n]
            items.append(n * 2)
            items[0] = 1
            table = {}
            table["n"] = items[0] + items[1]
            total = table["n"]
        return total

    compiled = tt.compile(program, 1)
    assert [compiled(3), compiled(-3)] == [7, -3]


# attributes of objects that the program makes: handed on like variables -------------------------------------------
@dataclass
class Counter:
    """A mutable dataclass."""

    count: Any
    total: Any


def assigned_before_it_is_read(n: Any) -> Any:
    p = SimpleNamespace(block=100, other=3)
    total = 0
    for i in range(n):
        p.block = n - i
        total += block_and_other(p)
    return total, p.block


def block_and_other(p: Any) -> Any:
    return p.block + p.other


def read_before_it_is_assigned(n: Any) -> Any:
    p = SimpleNamespace(last=1)
    for i in range(n):
        before = p.last
        p.last = before * 2 + i
    return p.last


def counted_in_a_dataclass(n: Any) -> Any:
    counter = Counter(0, 10)
    for i in range(n):
        counter.count += 1
        if i > 2:
            counter.total += counter.count
        else:
            counter.total -= 1
    return counter.count, counter.total


def set_on_one_side(n: Any) -> Any:
    p = SimpleNamespace(sign=0, size=n)
    if n < 0:
        p.sign = -1
        p.size = -n
    elif n > 0:
        p.sign = 1
    return p.sign, p.size


def one_object_by_two_names(n: Any) -> Any:
    p = SimpleNamespace(x=0)
    q = p
    for i in range(n):
        p.x += i
        if i > 1:
            q.x += 10
    return p.x, q.x


def in_a_while_loop_with_a_break(n: Any) -> Any:
    p = SimpleNamespace(i=0, steps=0)
    while True:
        if p.i >= n:
            break
        p.i += 2
        p.steps += 1
    return p.i, p.steps


def after_a_loop_that_returns(n: Any) -> Any:
    p = SimpleNamespace(found=-1)
    for i in range(n):
        p.found = i
        if i == 3:
            return p.found * 100
    p.found += 1000
    return p.found


def nested_loops(n: Any) -> Any:
    p = SimpleNamespace(inner=0, outer=0)
    for i in range(n):
        p.inner = 0
        for j in range(i):
            p.inner += j
        p.outer += p.inner
    return p.inner, p.outer


PROGRAMS = [
    assigned_before_it_is_read,
    read_before_it_is_assigned,
    counted_in_a_dataclass,
    set_on_one_side,
    one_object_by_two_names,
    in_a_while_loop_with_a_break,
    after_a_loop_that_returns,
    nested_loops,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_attributes_change_as_in_python(program: Callable[[int], Any]) -> None:
    compiled = tt.compile(program, 1)
    for n in (-3, 0, 1, 2, 5, 9):
        assert compiled(n) == program(n), n


def test_attributes_that_are_not_assigned_stay_static() -> None:
    def program(n: Any) -> Any:
        p = SimpleNamespace(tile=4, row=0)
        total = 0
        for i in range(n):
            p.row = i
            for _ in tt.range_constexpr(p.tile):
                total += p.row
        return total

    assert tt.compile(program, 1)(5) == 40


def test_callee_may_change_it_in_a_loop_of_its_own() -> None:
    def count(p: Any, n: Any) -> None:
        for i in range(n):
            p.x += i

    def program(n: Any) -> Any:
        p = SimpleNamespace(x=100)
        count(p, n)
        return p.x

    assert [tt.compile(program, 1)(n) for n in (0, 5)] == [100, 110]


def test_attribute_of_two_types_is_an_error_with_its_name() -> None:
    def program(n: Any) -> Any:
        p = SimpleNamespace(x=None)
        for i in range(n):
            p.x = i
        return n

    with pytest.raises(CarriedTypeError, match=r"p\.x"):
        tt.compile(program, 1)
