"""Selection of one of several static items by a run-time index."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from triptych.ir.types import type_text
from triptych.metastage.control_flow.join_plans import MismatchError, Plan, join
from triptych.metastage.control_flow.object_joins import note_selected
from triptych.metastage.trace.checks import check
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import Trace, place
from triptych.metastage.values.scalars import Numeric, as_number, materialize

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
