"""Warnings at the line of the program that is being traced."""

from __future__ import annotations

import warnings

from triptych.metastage.trace.trace import place
from triptych.support.warnings import TriptychWarning


def warn_here(text: str) -> None:
    """Warn at the user's line."""
    span = place()
    warnings.warn_explicit(text, TriptychWarning, span.file if span else __file__, span.line if span else 1)
