"""What nests deeply: trees that are no error to parse, and programs that are too deep for Python's stack.

Python's parser counts the depth of a tree against the limit for nested calls, so a long sum would be refused that
Python itself has read. Only the parser runs inside `deep_trees`: its stack has room far beyond the limit, and no code
of a user runs there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from triptych.support.errors import TriptychError
from triptych.support.forking import Brief

_DEEPEST = 10_000
"""Levels of a tree, in frames of Python; the parser takes three levels, some hundred bytes each, for a frame."""

_PARSING = Brief()


class TooDeepError(TriptychError, RecursionError):
    """A program nests deeper than the compiler, or Python's own stack, can follow."""

    code = "TT0104"


@contextmanager
def deep_trees() -> Iterator[None]:
    """Raise the limit, which all threads share, for one of them at a time; a fork waits until it is back."""
    with _PARSING:
        outside = sys.getrecursionlimit()
        sys.setrecursionlimit(max(outside, _DEEPEST))
        try:
            yield
        finally:
            sys.setrecursionlimit(outside)
