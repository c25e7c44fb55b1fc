"""Mutation of Python objects while tracing: allowed on what the current region made, refused on objects from outside.

Whether and how often a dynamic region runs is decided at run time, but Python would mutate once, now.
"""

from __future__ import annotations

from collections import deque
from types import MethodDescriptorType
from typing import Any

from triptych.metastage.errors import DynamicMutationError
from triptych.metastage.tracing import Trace, place
from triptych.support.articles import with_article

MUTATORS: dict[type, frozenset[str]] = {
    list: frozenset({"append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse"}),
    dict: frozenset({"update", "pop", "popitem", "clear", "setdefault"}),
    set: frozenset({"add", "update", "remove", "discard", "pop", "clear", "difference_update", "intersection_update"}),
    bytearray: frozenset({"append", "extend", "insert", "remove", "pop", "clear", "reverse"}),
    deque: frozenset({"append", "appendleft", "extend", "extendleft", "insert", "remove", "pop", "popleft", "clear"}),
}
_INSTEAD = {
    "list": "a run-time accumulator (`total += x`), a tuple built before the loop, or `range_constexpr` to unroll",
    "dict": "a tuple or dataclass assigned on every path, or `const_expr` / `range_constexpr` to decide while tracing",
}


def note_fresh(trace: Trace, made: Any) -> Any:
    """Remember that the current region made this object."""
    trace.fresh[id(made)] = (made, trace.region)
    return made


def check_mutable(trace: Trace, target: Any, action: str) -> None:
    """Refuse to change `target` where it depends on run-time conditions whether the change happens, or for whom."""
    if id(target) in trace.borrowed:
        raise DynamicMutationError(
            f"{action} would change a list that is an argument",
            span=place(),
            found="a list of the caller, which would stay as it is",
            expected="changes only of lists that the program makes",
            instead="a list of its own: `own = list(given)`",
        )
    if not trace.region.dynamic or getattr(type(target), "__runtime_mutable__", False):
        return
    made = trace.fresh.get(id(target))
    region = trace.region
    if made is not None and made[1] is region:
        return
    kind = type(target).__name__
    raise DynamicMutationError(
        f"{action} inside a {region.what} that is decided at run time",
        span=place(),
        found=f"{with_article(kind)} from outside the {region.what}, which would change once, while tracing",
        expected="changes only of objects made in the same region, or of variables",
        instead=_INSTEAD.get(kind, "a new object assigned to the variable: `p = dataclasses.replace(p, x=...)`"),
        related=[(f"the {region.what}", region.span)] if region.span is not None else [],
    )


def check_call(trace: Trace, function: Any, args: tuple[Any, ...]) -> None:
    """Refuse a call of a builtin that changes an object, in a dynamic region on an object from outside."""
    if function in (setattr, delattr):
        check_mutable(trace, args[0], f"`{function.__name__}`")
        return
    owner = getattr(function, "__self__", None)
    if isinstance(function, MethodDescriptorType) and args:
        owner = args[0]
    for kind, mutators in MUTATORS.items():
        if isinstance(owner, kind) and function.__name__ in mutators:
            check_mutable(trace, owner, f"`{type(owner).__name__}.{function.__name__}`")
