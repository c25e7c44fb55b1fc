"""Objects that meet others: a variable that is one dataclass instance or another goes on as a copy made of numbers.

Python would go on with one of the instances, and whoever else holds it would see what is assigned to it. The copy is as
good as long as none of them changes, so changes of all of them are refused; unless a side made its instance itself and
the variable is all that holds it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from triptych.hooks import UNDEFINED
from triptych.metastage.aggregates import take_apart
from triptych.metastage.errors import DynamicMutationError
from triptych.metastage.handed_attributes import Finding, HandedAttributes
from triptych.metastage.plans import Aggregate, Plan
from triptych.metastage.tracing import Region, Trace, place
from triptych.metastage.variables import bare
from triptych.support.articles import with_article

Row = tuple[Any, ...]


def note_branch(
    trace: Trace,
    plans: Sequence[Plan],
    ends: Sequence[Sequence[Any]],
    values: Sequence[Any],
    regions: Sequence[Region],
    attributes: HandedAttributes,
) -> None:
    """Objects that the two sides of a branch end with, and the copies that follow."""
    rows = [row for plan, *three in zip(plans, *ends, values, strict=True) for row in _rows(plan, three)]
    held = [Counter(id(row[side]) for row in rows) for side in (0, 1)]
    for *sides, copy in rows:
        own = [
            original is UNDEFINED or (held[side][id(original)] == 1 and _made_in(trace, original) is regions[side])
            for side, original in enumerate(sides)
        ]
        for original in sides:
            _note(trace, original, [attributes])
        if all(own):
            trace.fresh[id(copy)] = (copy, trace.region)
        else:
            _note(trace, copy)


def note_loop(trace: Trace, pairs: Iterable[tuple[Plan, object]], attributes: Sequence[HandedAttributes] = ()) -> None:
    """Objects that a loop starts with, ends an iteration with, or leaves in its variables."""
    for plan, value in pairs:
        for (held,) in _rows(plan, (value,)):
            _note(trace, held, attributes)


def check_unmerged(trace: Trace, owner: object, attribute: str) -> None:
    """Refuse to assign an attribute of an object of which there are copies, or that is one."""
    if id(owner) in trace.merged:
        raise _refusal(owner, f"assigning the attribute `{attribute}` of {with_article(type(owner).__name__)}", trace)


def _rows(plan: Plan, values: Sequence[object]) -> Iterator[Row]:
    """The dataclass instances that can be changed in a value, for several values of one plan beside each other."""
    if not isinstance(plan, Aggregate):
        return
    known = [bare(value) for value in values]
    cls = plan.parts.key[0]
    if hasattr(cls, "__dataclass_params__") and not cls.__dataclass_params__.frozen:
        yield tuple(known)
    taken = [None if value is UNDEFINED else take_apart(value) for value in known]
    for index, inner in enumerate(plan.plans):
        yield from _rows(inner, [UNDEFINED if parts is None else parts.values[index] for parts in taken])


def _made_in(trace: Trace, value: object) -> Region | None:
    made = trace.fresh.get(id(value))
    return made[1] if made is not None else None


def _note(trace: Trace, value: object, attributes: Sequence[HandedAttributes] = ()) -> None:
    """Remember that an object has copies; refuse it if a loop around, or this construct, changes it."""
    if value is UNDEFINED:
        return
    region: Region | None = trace.region
    loops: list[HandedAttributes] = [*attributes]
    while region is not None:
        loops += [region.attributes] if region.attributes.finding is Finding.TRACED_AGAIN else []
        region = region.parent
    if any(loop.hands_on(value) for loop in loops):
        raise _refusal(value, f"{with_article(type(value).__name__)} whose attributes change meets another", trace)
    trace.merged.setdefault(id(value), (value, place()))


def _refusal(value: object, what: str, trace: Trace) -> DynamicMutationError:
    kind = type(value).__name__
    merged = trace.merged.get(id(value))
    return DynamicMutationError(
        f"{what}, where a run-time condition decides which {kind} a variable is",
        span=place(),
        found=f"{with_article(kind)} that a variable is on one path, and another on the other: it goes on as a copy",
        expected="one object on all paths, or objects that stay as they are",
        instead="a new object assigned to the variable: `p = dataclasses.replace(p, x=...)`",
        related=[("where they meet", merged[1])] if merged is not None and merged[1] is not None else [],
    )
