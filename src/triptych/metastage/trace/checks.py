"""Checks and warnings at the user's line: an operation that makes the compiled call raise a Python exception there,
and a warning while the line is traced.
"""

from __future__ import annotations

import warnings

from triptych.diagnostics.check_errors import CHECK_ERRORS
from triptych.ir.handles import Attribute, Value
from triptych.metastage.trace import locations
from triptych.metastage.trace.trace import Trace, place
from triptych.support.errors import TriptychWarning


def check(
    trace: Trace, holds: Value, error: str, title: str, *, found: str = "", expected: str = "", instead: str = ""
) -> None:
    """Raise `error` (a class of `runtime_errors`) from the compiled call where the i1 value `holds` is false."""
    facts = check_facts(trace, error, title, found=found, expected=expected, instead=instead)
    trace.operation("cf.assert", (holds,), attributes=facts)


def check_facts(
    trace: Trace, error: str, title: str, *, found: str = "", expected: str = "", instead: str = ""
) -> dict[str, Attribute]:
    """What a check at this line says when it fails, as attributes."""
    calls = [("called from", caller) for caller in locations.callers()]
    headline, *notes = title.splitlines() or [""]  # an `assert` may say more than one line
    facts = {"span": place(), "found": found, "expected": expected, "instead": instead, "notes": notes}
    return trace.builder.check_attributes(CHECK_ERRORS[error], headline, **facts, related=calls)


def warn_here(text: str) -> None:
    """Warn at the user's line."""
    span = place()
    warnings.warn_explicit(text, TriptychWarning, span.file if span else __file__, span.line if span else 1)
