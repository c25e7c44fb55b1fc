"""Errors of cache keys: a value that cannot be told apart from another one across processes."""

from __future__ import annotations

from triptych.support.errors import TriptychError


class LargeArrayError(TriptychError, ValueError):
    """A program reads an array that is too large to be compared at each call, and that someone may write."""

    code = "TT0307"


class UnstableConstexprError(TriptychError, TypeError):
    """A `Constexpr` value whose content cannot be read, so no key can say when it changed."""

    code = "TT0306"
