"""Eager calls outside traced code: their errors leave with the user's line and the user's frames only."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from triptych.driver.boundary import for_user
from triptych.interop.torch_tracers import opaque, tell_torch
from triptych.support.errors import TriptychError

P = ParamSpec("P")
T = TypeVar("T")


def eager(function: Callable[P, T]) -> Callable[P, T]:
    """Decorator for such a function."""

    @opaque
    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            tell_torch()
            return function(*args, **kwargs)
        except TriptychError as error:
            for_user(error)
            raise

    return call
