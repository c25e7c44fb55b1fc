"""Object joins: a variable that is one object or another, or an item that a run-time index selects, goes on as a copy
made of numbers.
"""

from __future__ import annotations

import functools
import operator
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from triptych.hooks import UNDEFINED
from triptych.ir.types import type_text
from triptych.metastage.control_flow.join_plans import Aggregate, Expression, MismatchError, Plan, Static, bare, join
from triptych.metastage.trace.checks import check
from triptych.metastage.trace.errors import DynamicMutationError, OperandTypeError
from triptych.metastage.trace.loop_carried_attributes import LoopCarriedAttributes
from triptych.metastage.trace.trace import Region, Trace, place
from triptych.metastage.trace.user_code import is_own
from triptych.metastage.values.aggregates import take_apart
from triptych.metastage.values.scalars import Boolean, Numeric, as_number, materialize
from triptych.support.source import Span
from triptych.support.wording import with_article

Row = tuple[Any, ...]
Pick = Callable[[int], Any]
"""Whether the copy is the object of that number, as a run-time Boolean."""

_CONTAINERS = (list, tuple, set, frozenset, deque)
_MOST_HELD = 4096
"""Objects in containers that are looked at for one call or comparison."""


class Merged(NamedTuple):
    """An object that has copies, or is one."""

    value: Any
    span: Span | None
    """Where it met others."""
    originals: tuple[Any, ...] | None = None
    """What a copy is a copy of, () if that is not known yet; None for an object that only has copies."""
    pick: Pick | None = None
    region: Region | None = None
    """Where `pick` can be asked."""


# noting -------------------------------------------------------------------------------------------------------------
def note_branch(
    trace: Trace,
    test: Boolean,
    plans: Sequence[Plan],
    ends: Sequence[Sequence[Any]],
    values: Sequence[Any],
    regions: Sequence[Region],
    attributes: LoopCarriedAttributes,
) -> None:
    """Objects that the two sides of a branch end with, and the copies that follow."""
    rows = [row for plan, *three in zip(plans, *ends, values, strict=True) for row in _rows(trace, plan, three)]
    held = [Counter(id(row[side]) for row in rows) for side in (0, 1)]
    for *sides, copy in rows:
        own = [
            original is UNDEFINED or (held[side][id(original)] == 1 and _made_in(trace, original) is regions[side])
            for side, original in enumerate(sides)
        ]
        _note_originals(trace, sides, attributes)
        if all(own) and has_state(copy):
            trace.fresh[id(copy)] = (copy, trace.region)
        else:
            _note(trace, copy, tuple(sides), lambda side: test if side == 0 else test ^ True)


def note_selected(trace: Trace, plan: Plan, items: Sequence[Any], value: object, pick: Pick) -> None:
    """The copies in what was selected of some items, and the objects that they are copies of."""
    for *originals, copy in _rows(trace, plan, (*items, value)):
        _note_originals(trace, originals)
        _note(trace, copy, tuple(originals), pick)


def note_carried(trace: Trace, plan: Plan, value: object, attributes: LoopCarriedAttributes) -> None:
    """Objects that a loop starts with, or ends an iteration with: the next has copies of them."""
    for row in _rows(trace, plan, (value,)):
        _note_originals(trace, row, attributes)


def note_head(trace: Trace, plan: Plan, value: object) -> None:
    """The copies that an iteration starts with, of what the loop started with or whatever the one before left."""
    for (copy,) in _rows(trace, plan, (value,)):
        _note(trace, copy, ())


def note_left(trace: Trace, plan: Plan, value: object, before: object, end: object) -> None:
    """The copies that a loop leaves in its variables, of what it started with or ended with."""
    for copy, *originals in _rows(trace, plan, (value, before, end)):
        _note(trace, copy, tuple(originals))


def _rows(trace: Trace, plan: Plan, values: Sequence[object]) -> Iterator[Row]:
    """The objects in a value that cross as copies, for several values of one plan beside each other."""
    known = [bare(value) for value in values]
    if isinstance(plan, Static):
        for value in known:
            if value is not plan.value and value is not UNDEFINED:
                trace.interchangeable[id(plan.value)] = plan.value
    if isinstance(plan, Aggregate | Expression):
        yield tuple(known)
    if isinstance(plan, Aggregate):
        taken = [None if value is UNDEFINED else take_apart(value) for value in known]
        for index, inner in enumerate(plan.plans):
            yield from _rows(trace, inner, [UNDEFINED if parts is None else parts.values[index] for parts in taken])


def _made_in(trace: Trace, value: object) -> Region | None:
    made = trace.fresh.get(id(value))
    return made[1] if made is not None else None


def has_state(value: object) -> bool:
    """Whether attributes can be assigned where traced code sees it, so that a copy would not have them."""
    return value is not UNDEFINED and not isinstance(value, tuple) and not is_own(type(value))


def _note_originals(trace: Trace, originals: Iterable[Any], attributes: LoopCarriedAttributes | None = None) -> None:
    """Remember that objects have copies; refuse one that a construct changes meanwhile."""
    for value in filter(has_state, originals):
        if attributes is not None and any(map(attributes.hands_on, _behind(trace, value))):
            raise _refusal(value, f"{with_article(type(value).__name__)} whose attributes change meets another", trace)
        _remember(trace, value, Merged(value, place()))


def _note(trace: Trace, copy: object, originals: tuple[Any, ...], pick: Pick | None = None) -> None:
    if not any(copy is original for original in originals) and copy is not UNDEFINED:
        _remember(trace, copy, Merged(copy, place(), originals, pick, trace.region))


def _remember(trace: Trace, value: object, merged: Merged) -> None:
    trace.merged.setdefault(id(value), merged)
    attributes = getattr(value, "__dict__", None) if has_state(value) else None
    if type(attributes) is dict:  # which is another name for the object's state
        trace.merged.setdefault(id(attributes), Merged(attributes, merged.span))


def _behind(trace: Trace, value: object) -> Iterator[Any]:
    """An object and those that it is a copy of."""
    pending, seen = [value], {id(value)}
    while pending:
        found = pending.pop()
        yield found
        merged = trace.merged.get(id(found))
        for original in (merged.originals or ()) if merged is not None else ():
            if id(original) not in seen:
                seen.add(id(original))
                pending.append(original)


# changes ------------------------------------------------------------------------------------------------------------
def check_unmerged(trace: Trace, target: object, action: str) -> None:
    """Refuse to change an object of which there are copies, or that is one."""
    if id(target) in trace.merged and not is_own(type(target)):
        raise _refusal(target, action, trace)


def merged_among(trace: Trace, values: Iterable[Any]) -> list[Any]:
    """Objects with copies, and copies, that some values are or hold."""
    if not trace.merged and not trace.interchangeable:
        return []
    held = list(values)
    for value in held:
        if isinstance(value, _CONTAINERS) and len(held) < _MOST_HELD:
            held += value
        elif isinstance(value, dict) and len(held) < _MOST_HELD:
            held += (*value, *value.values())
    return [value for value in held if id(value) in trace.merged or id(value) in trace.interchangeable]


def _refusal(value: object, what: str, trace: Trace) -> DynamicMutationError:
    kind = type(value).__name__
    merged = trace.merged.get(id(value))
    return DynamicMutationError(
        f"{what}, where a run-time condition decides which {kind} a variable is",
        span=place(),
        found=f"{with_article(kind)} that a variable is on one path, and another on the other: it goes on as a copy",
        expected="one object on all paths, or objects that stay as they are",
        instead="a new object assigned to the variable: `p = dataclasses.replace(p, x=...)`",
        related=[("where they meet", merged.span)] if merged is not None and merged.span is not None else [],
    )


SELECTABLE: Mapping[Any, Callable[[Any], Iterator[Any]]] = MappingProxyType(
    {kind.__getitem__: kind.__iter__ for kind in (list, tuple, range)}
)
"""How the items are had that `__getitem__` of a builtin type reads, also for a class that has inherited it."""


def select_item(trace: Trace, items: list[Any], index: Numeric) -> Any:
    """`items[index]` as a chain of selects; negative indices count back, one outside raises at run time."""
    count = len(items)
    if index.info.kind == "float":
        raise OperandTypeError(
            f"an index must be an integer, not {type(index).__name__}",
            span=place(),
            found=f"a run-time {type(index).__name__}",
            expected="an integer",
            instead="int(x), which truncates",
        )
    inside: Any = (index >= -count) & (index < count) if index.info.kind == "int" else index < count
    if not items:
        raise OperandTypeError("an empty sequence cannot be indexed at run time", span=place(), found="no items")
    expected = f"an index from {-count if index.info.kind == 'int' else 0} to {count - 1}"
    check(trace, inside.ir_value(), "IndexOutOfRangeError", f"index out of range for {count} items", expected=expected)
    numbers = [as_number(item) for item in items]
    chosen, plan = numbers[0], None
    for position, item in enumerate(numbers[1:], start=1):
        hit = _hit(index, position, count)
        if hit is not False:
            chosen, plan = _select(trace, hit, item, chosen, "a run-time index")
    if plan is not None:
        note_selected(trace, plan, numbers, chosen, lambda position: _hit(index, position, count))
    return chosen


def select_one(trace: Trace, test: Numeric, then: object, orelse: object) -> Any:
    """`then if test else orelse` without a branch, for any two values that can be one variable."""
    chosen, plan = _select(trace, test, then, orelse, "a choice at run time")
    note_selected(trace, plan, (then, orelse), chosen, lambda side: test if side == 0 else test ^ True)
    return chosen


def _hit(index: Numeric, position: int, count: int) -> Any:
    """Whether an index means the item at a position; False if its type does not reach there."""
    hits = [index == place for place in (position, position - count) if _holds(index, place)]
    return functools.reduce(operator.or_, hits) if hits else False


def _holds(index: Numeric, position: int) -> bool:
    """Whether the index can be that at all: an Int8 reaches a part of a long list only."""
    return index.info.holds(position) if index.info.is_integer else position in (0, 1)


def _select(trace: Trace, hit: Numeric, item: object, otherwise: object, what: str) -> tuple[Any, Plan]:
    try:
        plan = join(item, otherwise)
        pairs = zip(plan.lower(item, trace), plan.lower(otherwise, trace), strict=True)
    except MismatchError as mismatch:
        raise OperandTypeError(
            f"{what} needs items of one type",
            span=place(),
            found=f"{mismatch.left} and {mismatch.right}",
            expected="items of one type",
            instead="convert the items to one type, or use an index that is known while tracing",
        ) from None
    test = materialize(hit, hit.info, trace)
    values = [trace.value("arith.select", (test, a, b), type_text(a.type)) for a, b in pairs]
    return plan.build(iter(values), trace), plan
