"""Reading one of several static items by a run-time index."""

from __future__ import annotations

from typing import Any

from triptych.metastage.checks import check
from triptych.metastage.errors import OperandTypeError
from triptych.metastage.plans import MismatchError, meet
from triptych.metastage.scalars import Numeric, lift
from triptych.metastage.tracing import Trace, place


def select_item(trace: Trace, items: list[Any], index: Numeric) -> Any:
    """`items[index]` as a chain of selects; negative indices count back, one outside raises at run time."""
    count = len(items)
    inside: Any = (index >= -count) & (index < count) if index.info.kind == "int" else index < count
    if not items:
        raise OperandTypeError("an empty sequence cannot be indexed at run time", span=place(), found="no items")
    expected = f"an index from {-count if index.info.kind == 'int' else 0} to {count - 1}"
    check(trace, inside.ir_value(), "IndexOutOfRangeError", f"index out of range for {count} items", expected=expected)
    chosen = items[0]
    for position, item in enumerate(items[1:], start=1):
        hit: Any = index == position
        if index.info.kind == "int":
            hit = hit | (index == position - count)
        chosen = _select(trace, hit, item, chosen)
    return chosen


def _select(trace: Trace, hit: Any, item: Any, otherwise: Any) -> Any:
    try:
        plan = meet(item, otherwise)
        pairs = zip(plan.lower(item, trace), plan.lower(otherwise, trace), strict=True)
    except MismatchError as mismatch:
        raise OperandTypeError(
            "a run-time index needs items of one type",
            span=place(),
            found=f"{mismatch.left} and {mismatch.right}",
            expected="items of one type",
            instead="convert the items to one type, or use an index that is known while tracing",
        ) from None
    test = lift(hit, hit.info, trace)
    values = [trace.value("arith.select", (test, a, b), str(a.type)) for a, b in pairs]
    return plan.build(iter(values), trace)
