"""Leniency: what the public CuTe DSL takes without a look and this one refuses is taken, with a warning.

Tensors of another layout than an exported function was compiled for: such programs pass them by the dynamic values of
their own layouts, as C does. Tensors that require a gradient while autograd follows: the results have none. And
`isinstance(x, int)` of a run-time number, which is no int there, wherever it comes from.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

from triptych.diagnostics.tensor_errors import OTHER_LAYOUTS, PYTHON_TYPES_ASKED_FOR, UNFOLLOWED
from triptych.support import tracebacks
from triptych.support.errors import TriptychError, TriptychWarning
from triptych.support.source import Span


def install() -> Callable[[], None]:
    """From now on; gives what undoes it."""
    leniencies = (
        (OTHER_LAYOUTS, _warn_of_layout),
        (UNFOLLOWED, _warn_of_gradient),
        (PYTHON_TYPES_ASKED_FOR, _warn_of_type),
    )
    for listeners, warn in leniencies:
        listeners.append(warn)

    def undo() -> None:
        for listeners, warn in leniencies:
            listeners.remove(warn)

    return undo


def _warn_of_layout(error: TriptychError) -> None:
    text = f"{error.title}: found {error.found}, expected {error.expected}; what the function then reads is not defined"
    _warn(text, RuntimeWarning, error.span)


def _warn_of_gradient(error: TriptychError) -> None:
    _warn(f"{error.title}: the result has no gradient; write: {error.instead}", TriptychWarning, tracebacks.caller())


def _warn_of_type(error: TriptychError) -> None:
    _warn(f"{error.title}: False; write: {error.instead}", TriptychWarning, error.span)


def _warn(text: str, category: type[Warning], span: Span | None) -> None:
    warnings.warn_explicit(text, category, "" if span is None else span.file, 0 if span is None else span.line)
