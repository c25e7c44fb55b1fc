"""Where a call enters the framework: one frame that carries the user's own function name, file and line.

A traceback shows every Python frame an exception passes. The framework's inner frames are removed from it, and the one
that must remain looks like what it stands for: the user's function.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

from triptych.metastage import places
from triptych.metastage.tracing import active
from triptych.support.config import config
from triptych.support.tracebacks import user_traceback


class Outcome(NamedTuple):
    """What a call came to: a value, or an error whose traceback has only the user's frames."""

    value: Any
    error: BaseException | None

    def unwrap(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.value


def outcome_of(run: Callable[[], Any]) -> Outcome:
    """Run; an exception is caught and its traceback cleaned."""
    try:
        return Outcome(run(), None)
    except Exception as error:
        if not config().full_traceback:
            error.__traceback__ = user_traceback(error.__traceback__, places.root_of)
            error.__suppress_context__ = True
        return Outcome(None, error)


_TEMPLATE = """
def call(self, *args, **kwargs):
    if not kwargs and active() is None:
        entry = self._fast.get((*map(type, args),))
        if entry is not None and entry.unchanged():
            return entry.call(*args)
    outcome = self._outcome(args, kwargs)
    if outcome.error is not None:
        raise outcome.error
    return outcome.value
"""


def boundary(function: FunctionType) -> Callable[..., Any]:
    """The `__call__` of a compiled function, compiled as if written on the function's own first line."""
    code = function.__code__
    tree = ast.parse(_TEMPLATE)
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.stmt | ast.arg | ast.keyword):
            node.lineno = node.end_lineno = code.co_firstlineno
            node.col_offset = node.end_col_offset = 0
    namespace: dict[str, Any] = {"active": active}
    exec(compile(tree, code.co_filename, "exec"), namespace)
    call: FunctionType = namespace["call"]
    call.__code__ = call.__code__.replace(co_name=function.__name__, co_qualname=function.__qualname__)
    return call
