"""Run-time checks: an operation that makes the compiled call raise a Python exception at the user's line."""

from __future__ import annotations

from triptych.ir.checks import check_attributes
from triptych.ir.handles import Value
from triptych.metastage import places
from triptych.metastage.tracing import Trace, place
from triptych.support.check_errors import CHECK_ERRORS


def check(
    trace: Trace, holds: Value, error: str, title: str, *, found: str = "", expected: str = "", instead: str = ""
) -> None:
    """Raise `error` (a class of `runtime_errors`) from the compiled call where the i1 value `holds` is false."""
    calls = [("called from", caller) for caller in places.callers()]
    headline, *notes = title.splitlines() or [""]  # an `assert` may say more than one line
    facts = {"span": place(), "found": found, "expected": expected, "instead": instead, "notes": notes}
    attributes = check_attributes(trace.builder, CHECK_ERRORS[error], headline, **facts, related=calls)
    trace.operation("cf.assert", (holds,), attributes=attributes)
