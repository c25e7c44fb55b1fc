"""Iterators while tracing: the user's `__iter__` and `__next__` are traced, iterators have a stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from triptych.metastage.calls.opaque_calls import check_advance
from triptych.metastage.calls.repeatability import note_walk
from triptych.metastage.trace.trace import Trace
from triptych.metastage.trace.user_code import is_own, user_method

_CONTAINERS = frozenset({list, tuple, dict, set, frozenset, str, bytes, range})


class TracesCalls(Protocol):
    """The hooks of a trace, as far as iteration asks."""

    trace: Trace

    def call(self, function: Callable[..., Any], /, *args: object, **kwargs: object) -> Any: ...


def items_of(hooks: TracesCalls, iterable: object) -> Any:
    """`iterable` as Python may iterate over it; advancing an iterator is a change of it."""
    kind = type(iterable)
    note_walk(hooks.trace, iterable)
    if kind in _CONTAINERS or is_own(kind):
        return iterable
    if user_method(kind, "__next__") is not None or user_method(kind, "__iter__") is not None:
        return _traced_items(hooks, iterable)
    if hasattr(kind, "__next__"):
        check_advance(hooks.trace, iterable)
    return iterable


def _traced_items(hooks: TracesCalls, iterable: object) -> Iterator[Any]:
    start = user_method(type(iterable), "__iter__")
    iterator = iterable if start is None else hooks.call(start, iterable)
    step = user_method(type(iterator), "__next__")
    if step is None:
        yield from items_of(hooks, iterator)
        return
    while True:
        try:
            item = hooks.call(step, iterator)
        except StopIteration:
            return
        yield item
