"""Tensors with other layouts than an exported function was compiled for, in programs for the public CuTe DSL.

Such programs pass them by the dynamic values of their own layouts, as C does, and nobody looks. Here they run too, with
a warning that says what does not fit.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

from triptych.diagnostics.tensor_errors import OTHER_LAYOUTS
from triptych.support.errors import TriptychError


def install() -> Callable[[], None]:
    """From now on; gives what undoes it."""
    OTHER_LAYOUTS.append(_warn)
    return lambda: OTHER_LAYOUTS.remove(_warn)


def _warn(error: TriptychError) -> None:
    text = f"{error.title}: found {error.found}, expected {error.expected}"
    file, line = ("", 0) if error.span is None else (error.span.file, error.span.line)
    warnings.warn_explicit(f"{text}; what the function then reads is not defined", RuntimeWarning, file, line)
