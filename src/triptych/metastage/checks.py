"""Run-time checks: an operation that makes the compiled call raise a Python exception at the user's line."""

from __future__ import annotations

from typing import Any

from triptych.metastage import places
from triptych.metastage.tracing import Trace, place
from triptych.support import runtime_errors
from triptych.support.render import render


def check(
    trace: Trace, holds: Any, error: str, title: str, *, found: str = "", expected: str = "", instead: str = ""
) -> None:
    """Raise `error` (a class of `runtime_errors`) from the compiled call where the i1 value `holds` is false."""
    code = getattr(runtime_errors, error).code
    calls = [("called from", caller) for caller in places.callers()]
    message = render(title, code, span=place(), found=found, expected=expected, instead=instead, related=calls)
    attributes = {"msg": trace.builder.string(message), "triptych.error": trace.builder.string(error)}
    trace.operation("cf.assert", (holds,), attributes=attributes)
