"""Where a call enters the framework: an error leaves it with the user's frames only.

A bare `raise` goes on with the traceback that the exception carries and adds no entry for its own frame. So an entry
point that catches, calls `for_user` and raises again is itself absent from the traceback.
"""

from __future__ import annotations

from triptych.metastage import places
from triptych.support.config import config
from triptych.support.errors import TriptychError
from triptych.support.runtime_errors import CompiledCodeError
from triptych.support.tracebacks import caller, user_traceback


def for_user(error: Exception) -> None:
    """Take the framework's frames out of the traceback; an error that knows no place of its own is the caller's."""
    if isinstance(error, TriptychError) and error.span is None and not isinstance(error, CompiledCodeError):
        error.span = caller()
    if not config().full_traceback:
        error.__traceback__ = user_traceback(error.__traceback__, places.root_of)
        error.__suppress_context__ = True
