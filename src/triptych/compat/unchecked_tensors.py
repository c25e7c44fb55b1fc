"""Tensors that the public CuTe DSL takes without a look and this one refuses: here they are taken, with a warning.

Of another layout than an exported function was compiled for: such programs pass them by the dynamic values of their own
layouts, as C does. And tensors that require a gradient while autograd follows: the results have none.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

from triptych.diagnostics.tensor_errors import OTHER_LAYOUTS, UNFOLLOWED
from triptych.support import tracebacks
from triptych.support.errors import TriptychError, TriptychWarning
from triptych.support.source import Span


def install() -> Callable[[], None]:
    """From now on; gives what undoes it."""
    OTHER_LAYOUTS.append(_warn_of_layout)
    UNFOLLOWED.append(_warn_of_gradient)

    def undo() -> None:
        OTHER_LAYOUTS.remove(_warn_of_layout)
        UNFOLLOWED.remove(_warn_of_gradient)

    return undo


def _warn_of_layout(error: TriptychError) -> None:
    text = f"{error.title}: found {error.found}, expected {error.expected}; what the function then reads is not defined"
    _warn(text, RuntimeWarning, error.span)


def _warn_of_gradient(error: TriptychError) -> None:
    _warn(f"{error.title}: the result has no gradient; write: {error.instead}", TriptychWarning, tracebacks.caller())


def _warn(text: str, category: type[Warning], span: Span | None) -> None:
    warnings.warn_explicit(text, category, "" if span is None else span.file, 0 if span is None else span.line)
