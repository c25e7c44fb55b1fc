"""Errors of groups of ranks."""

from __future__ import annotations

from triptych.support.errors import TriptychError


class RankError(TriptychError, RuntimeError):
    """What a program asks of the other ranks cannot be: there are none, one has ended, or they do not agree."""

    code = "TT0737"
