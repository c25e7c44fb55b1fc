"""Changing Python objects while tracing: as in Python, or refused where it would happen once and not at run time."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import pytest

import triptych as tt
from triptych.metastage.errors import DynamicMutationError


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
