"""API boundary: an error leaves the framework with the user's frames only.

A bare `raise` goes on with the traceback that the exception carries and adds no entry for its own frame. So an entry
point that catches, calls `for_user` and raises again is itself absent from the traceback. `api_boundary` is that as a
decorator; calls of compiled functions, where another frame would cost, do it themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from triptych.metastage.trace import locations
from triptych.support.config import config
from triptych.support.errors import TriptychError
from triptych.support.setting import SettingError
from triptych.support.tracebacks import caller, show_in_colours, user_traceback

P = ParamSpec("P")
T = TypeVar("T")


def api_boundary(function: Callable[P, T]) -> Callable[P, T]:
    """Decorator for an entry point."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            for_user(error)
            raise

    return call


def for_user(error: Exception) -> None:
    """Take the framework's frames out of the traceback; an error that knows no place of its own is the caller's."""
    if isinstance(error, TriptychError):
        show_in_colours()
        if error.span is None:
            error.span = caller()
    if isinstance(error, SettingError) or not config().full_traceback:  # a wrong setting leaves no settings to ask
        error.__traceback__ = user_traceback(error.__traceback__, locations.root_of)
        error.__suppress_context__ = True
