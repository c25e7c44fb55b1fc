"""Mutation of Python objects while tracing: allowed on what the current region made, refused on objects from outside.

Whether and how often a dynamic region runs is decided at run time, but Python would mutate once, now. Attributes of
objects that the program made are the exception: a construct that assigns one hands it on as it does its variables, and
one that an object gets in a construct ends with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from types import MemberDescriptorType, MethodDescriptorType, SimpleNamespace
from typing import Any, NoReturn

from triptych.hooks import Calls, Place
from triptych.metastage.control_flow.join_plans import has_dynamic
from triptych.metastage.control_flow.object_joins import check_unmerged
from triptych.metastage.trace import locations
from triptych.metastage.trace.errors import DynamicMutationError
from triptych.metastage.trace.loop_carried_attributes import Finding, TraceAgain, found_place
from triptych.metastage.trace.trace import WHOLE, Region, Trace, place
from triptych.metastage.trace.user_code import BuiltinCallable, class_entry, is_own, user_method
from triptych.support.errors import TriptychError
from triptych.support.wording import with_article

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
    check_unmerged(trace, target, action)
    if trace.region.dynamic and not _is_runtime_mutable(type(target)) and not is_made_here(trace, target):
        raise refusal(trace, target, action)
    _check_not_in_hash(trace, target, action)


def _check_not_in_hash(trace: Trace, target: object, action: str) -> None:
    if trace.repetition.would_change_twice(target, id(target) in trace.fresh):
        raise refusal(trace, target, f"{action} in `__hash__`", "a `__hash__` that only reads")


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
    """Whether an attribute can be handed on like a variable: the program has made it, and it is plainly stored."""
    return _settled_in(trace, owner, attribute) is not None and _is_plainly_stored(owner, attribute)


def _settled_in(trace: Trace, owner: object, attribute: str) -> Region | None:
    """The region around here that made an object, or assigned an attribute of one from outside.

    None if there is none, or if a kernel starts in between: what a host computes, its kernels cannot change.
    """
    made = trace.fresh.get(id(owner))
    settled = trace.assigned_in.get((id(owner), attribute), None if made is None else made[1])
    region: Region | None = trace.region
    while region is not None and region is not settled:
        region = None if region.attributes.finding is Finding.REFUSED else region.parent
    return None if id(owner) in trace.borrowed else region


def _has_plain_access(cls: type) -> bool:
    """Whether a class leaves reading and assigning attributes to `object`; a SimpleNamespace does from Python 3.13."""
    accessors = [getattr(cls, name) is getattr(object, name) for name in ("__setattr__", "__getattribute__")]
    return all(accessors) and cls is not SimpleNamespace


def _is_plainly_stored(owner: object, attribute: str) -> bool:
    """Whether reading and assigning the attribute runs nobody's code."""
    cls = type(owner)
    if not (_has_plain_access(cls) or cls is SimpleNamespace) or _is_runtime_mutable(cls):
        return False
    entry = class_entry(cls, attribute)
    if isinstance(entry, MemberDescriptorType):
        return hasattr(owner, attribute)
    return attribute in getattr(owner, "__dict__", ()) and not hasattr(type(entry), "__set__")


def track(trace: Trace, owner: object, attribute: str) -> bool:
    """Let every construct between here and where the object was made hand the attribute on; False if one cannot.

    A loop that has been traced without it starts again: this does not return then.
    """
    check_unmerged(trace, owner, f"assigning the attribute `{attribute}` of {with_article(type(owner).__name__)}")
    _check_not_in_hash(trace, owner, f"assigning the attribute `{attribute}`")
    left_behind = (id(owner), attribute) in trace.left_behind
    trace.left_behind.pop((id(owner), attribute), None)
    settled = _settled_in(trace, owner, attribute)
    if settled is trace.region:
        return True
    if _begins_here(trace, owner, attribute, left_behind):
        return True
    if settled is None:
        return False
    missing = _missing(trace.region, settled, owner, attribute)
    if not missing:
        return True
    if not _is_plainly_stored(owner, attribute):
        return False
    found = found_place(owner, attribute, place())
    loops = [at for at, (region, _) in enumerate(missing) if region.attributes.finding is Finding.TRACED_AGAIN]
    outside = missing[loops[-1] + 1 :] if loops else missing
    for region, before in outside:
        region.attributes.take_up(found, before)
    if loops:
        _trace_again(trace, [missing[at][0] for at in loops], found)
    return True


def _begins_here(trace: Trace, owner: object, attribute: str, left_behind: bool) -> bool:
    """Let an object that the program made have a new attribute until the region ends.

    Nobody may have looked for it before: in the next iteration of a loop it would be there.
    """
    cls = type(owner)
    looked_for = trace.attributes_read & {(id(owner), attribute), (id(owner), WHOLE)}
    if not trace.region.dynamic or id(owner) not in trace.fresh or (looked_for and not left_behind):
        return False
    if not _has_plain_access(cls) or any(class_entry(cls, name) is not None for name in ("__getattr__", attribute)):
        return False
    if attribute in getattr(owner, "__dict__", (attribute,)) or id(owner) in trace.borrowed:
        return False
    trace.region.begun.append((owner, attribute, place()))
    trace.assigned_in[id(owner), attribute] = trace.region
    return True


def assigned_by(trace: Trace, calls: Calls) -> Iterator[Place]:
    """The attributes of objects that methods of the user's assign, whichever way they take: the pre-stage knows them.

    A loop that hands them on from the start need not be traced again.
    """
    for owner, name in calls:
        method = None if name in getattr(owner, "__dict__", ()) else user_method(type(owner), name)
        if method is None or locations.is_rewritten(method.__code__):
            continue
        with suppress(TriptychError):  # what cannot be rewritten runs as it is
            for attribute, span in trace.rewrite(method).assigns:
                yield found_place(owner, attribute, span)


def _missing(region: Region, settled: Region, owner: object, attribute: str) -> list[tuple[Region, Any]]:
    """The regions that do not hand an attribute on, the innermost first, each with what it was where that started."""
    found = []
    value = getattr(owner, attribute, None)
    while region is not settled:
        before = region.attributes.before(owner, attribute)
        if before is None:
            found.append((region, value))
        else:
            (value,) = before
        assert region.parent is not None, "the assignment stands inside of the outermost region"
        region = region.parent
    return found


def _trace_again(trace: Trace, loops: list[Region], found: Place) -> NoReturn:
    """Start the outermost of the loops again; the others in it then know what they assign."""
    for loop in loops:
        trace.repetition.found.setdefault(loop.attributes.origin, []).append(found)
    if loops[-1].attributes.done_once != trace.repetition.done_once:
        raise DynamicMutationError(
            f"assigning the attribute `{found.attribute}` in a loop that has done something once, while tracing",
            span=found.span,
            found="a loop that would have to be traced again, to hand the attribute on, and do it twice",
            expected="what is meant once (`at_trace_time`, a launch) after the assignment, or before the loop",
            instead=f"a variable that the loop assigns itself: `{found.attribute} = ...`",
            related=[("the loop", span)] if (span := loops[-1].span) is not None else [],
        )
    trace.repetition.again = TraceAgain(loops[-1].attributes, found)
    raise trace.repetition.again


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
