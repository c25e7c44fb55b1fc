"""The trace in progress, for what has a meaning only inside one."""

from __future__ import annotations

from triptych.metastage.trace.errors import LeakedValueError
from triptych.metastage.trace.trace import Trace, active, place


def tracing() -> Trace:
    """The trace in progress; pointers and tensors have no meaning outside one."""
    trace = active()
    if trace is None:
        raise LeakedValueError(
            "pointers and tensors exist only while a function is traced",
            span=place(),
            expected="a call inside a `@jit` or `@kernel` function",
        )
    return trace
