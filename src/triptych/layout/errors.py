"""Errors of the layout algebra.

Input: what was found, what was expected, what to write instead. Output: an exception with a code and the user's line.
"""

from __future__ import annotations

from triptych.support.errors import TriptychError
from triptych.support.tracebacks import caller, show_for_user


class LayoutError(TriptychError, ValueError):
    """Root of the errors of the layout algebra; they point at the line that called it."""

    code = "TT0800"

    def __init__(self, title: str, *, found: str = "", expected: str = "", instead: str = "") -> None:
        super().__init__(title, span=caller(), found=found, expected=expected, instead=instead)
        show_for_user()  # the algebra has no entry points of its own, which would do it


class NotationError(LayoutError):
    """A text is not in the layout notation."""

    code = "TT0801"


class ProfileError(LayoutError):
    """Two nested tuples, or a tuple and a mode, do not fit together."""

    code = "TT0802"


class DivisibilityError(LayoutError):
    """The exact result is not a layout, because an extent or a stride does not divide another."""

    code = "TT0803"


class OverlapError(LayoutError):
    """Two coordinates of a layout share an index where every index may be used once."""

    code = "TT0804"


class UndecidableError(LayoutError):
    """The answer depends on an integer that is known later; nothing is assumed unless the program says so."""

    code = "TT0805"


class SwizzleError(LayoutError):
    """The bit fields of a swizzle overlap, or a change of the element size would tear them apart."""

    code = "TT0806"


class DeclarationError(LayoutError):
    """An integer is not what was declared of it: its divisibility, its smallest value, its width."""

    code = "TT0807"


class AccessError(LayoutError):
    """The elements that one thread moves at once do not lie next to each other."""

    code = "TT0808"
