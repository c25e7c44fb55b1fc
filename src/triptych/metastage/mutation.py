"""Mutation of Python objects while tracing: allowed on what the current region made, refused on objects from outside.

Whether and how often a dynamic region runs is decided at run time, but Python would mutate once, now. Attributes of
objects that the program made are the exception: a construct that assigns one hands it on as it does its variables.
"""

from __future__ import annotations

from collections import deque
from types import MethodDescriptorType, SimpleNamespace
from typing import Any

from triptych.metastage.errors import DynamicMutationError
from triptych.metastage.method_lookup import BuiltinCallable
from triptych.metastage.plans import has_dynamic
from triptych.metastage.tracing import Region, Trace, place
from triptych.metastage.user_code import is_own
from triptych.support.articles import with_article

MUTATORS: dict[type, frozenset[str]] = {
    list: frozenset({"append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse"}),
    dict: frozenset({"update", "pop", "popitem", "clear", "setdefault"}),
    set: frozenset({"add", "update", "remove", "discard", "pop", "clear", "difference_update", "intersection_update"}),
    bytearray: frozenset({"append", "extend", "insert", "remove", "pop", "clear", "reverse"}),
    deque: frozenset({"append", "appendleft", "extend", "extendleft", "insert", "remove", "pop", "popleft", "clear"}),
}
_IN_PLACE = {
    op: f"__i{name}__"
    for op, name in zip(
        ("+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^", "@"),
        ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and", "or", "xor", "matmul"],
        strict=True,
    )
}
_INSTEAD = {
    "list": "a run-time accumulator (`total += x`), a tuple built before the loop, or `range_constexpr` to unroll",
    "dict": "a tuple or dataclass assigned on every path, or `const_expr` / `range_constexpr` to decide while tracing",
}


def note_fresh(trace: Trace, made: object) -> Any:
    """Remember that the current region made this object."""
    trace.fresh[id(made)] = (made, trace.region)
    return made


def is_made_here(trace: Trace, value: object) -> bool:
    """Whether the region that is being traced made the object: nobody outside of it can see a change."""
    made = trace.fresh.get(id(value))
    return made is not None and made[1] is trace.region


def check_mutable(trace: Trace, target: object, action: str) -> None:
    """Refuse to change `target` where it depends on run-time conditions whether the change happens, or for whom."""
    if id(target) in trace.borrowed:
        kind = type(target).__name__
        raise DynamicMutationError(
            f"{action} would change {with_article(kind)} that is an argument",
            span=place(),
            found=f"{with_article(kind)} of the caller, which would stay as it is",
            expected="changes only of objects that the program makes",
            instead="a list of its own: `own = list(given)`"
            if kind == "list"
            else "a new one: `own = dataclasses.replace(given, ...)`",
        )
    if trace.region.dynamic and not _is_runtime_mutable(type(target)) and not is_made_here(trace, target):
        raise refusal(trace, target, action)


def refusal(trace: Trace, target: object, action: str, instead: str = "") -> DynamicMutationError:
    """The error for a change of `target` that would happen once, while tracing."""
    region, kind = trace.region, type(target).__name__
    otherwise = instead or "a new object assigned to the variable: `p = dataclasses.replace(p, x=...)`"
    return DynamicMutationError(
        f"{action} inside a {region.what} that is decided at run time",
        span=place(),
        found=f"{with_article(kind)} from outside the {region.what}, which would change once, while tracing",
        expected="changes only of objects made in the same region, or of variables",
        instead=_INSTEAD.get(kind, otherwise),
        related=[(f"the {region.what}", region.span)] if region.span is not None else [],
    )


def changes_in_place(cls: type, op: str) -> bool:
    """Whether `target op= value` changes an object of this class instead of making another."""
    return hasattr(cls, _IN_PLACE[op]) and not is_own(cls)


def _is_runtime_mutable(cls: type) -> bool:
    """Whether objects of a class keep what changes in memory of the program."""
    return getattr(cls, "__runtime_mutable__", False)


def can_track(trace: Trace, owner: object, attribute: str) -> bool:
    """Whether an attribute can be handed on like a variable: of an object made while tracing, and plainly stored."""
    cls: Any = type(owner)
    plain = cls is SimpleNamespace or (cls.__setattr__ is object.__setattr__ and not _is_runtime_mutable(cls))
    stored = attribute in getattr(owner, "__dict__", ()) and not hasattr(getattr(cls, attribute, None), "__set__")
    return id(owner) in trace.fresh and plain and stored


def is_tracked(trace: Trace, owner: object, attribute: str) -> bool:
    """Whether every construct between here and where the object was made hands the attribute on."""
    if id(owner) not in trace.fresh:
        return False
    region: Region | None = trace.region
    made_in = trace.fresh[id(owner)][1]
    while region is not None and region is not made_in:
        if not any(known.owner is owner and known.attribute == attribute for known in region.attributes):
            return False
        region = region.parent
    return region is made_in


def check_call(trace: Trace, function: BuiltinCallable, args: tuple[Any, ...]) -> None:
    """Refuse a call of a builtin that changes an object, in a dynamic region on an object from outside."""
    owner = getattr(function, "__self__", None)
    if isinstance(function, MethodDescriptorType) and args:
        owner, *args = args  # type: ignore[assignment]
    for kind, mutators in MUTATORS.items():
        if isinstance(owner, kind) and function.__name__ in mutators:
            check_mutable(trace, owner, f"`{type(owner).__name__}.{function.__name__}`")
            if any(map(has_dynamic, args)):
                trace.stored[id(owner)] = place()
