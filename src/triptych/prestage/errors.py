"""Errors of the pre-stage: syntax that it refuses, each with its replacement."""

from __future__ import annotations

from triptych.support.errors import TriptychError


class UnsupportedSyntaxError(TriptychError, NotImplementedError):
    """A Python construct that has no meaning in compiled code."""

    code = "TT0101"


class NoSourceError(TriptychError, OSError):
    """The function's source text cannot be found, so it cannot be rewritten."""

    code = "TT0102"


class SourceChangedError(NoSourceError):
    """The function's file was edited after it was imported, so its text says something else than the code that runs."""

    code = "TT0103"
