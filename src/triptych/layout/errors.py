"""Errors of the layout algebra.

Input: what was found, what was expected, what to write instead. Output: an exception with a code and the user's line.
"""

from __future__ import annotations

from triptych.support.errors import TriptychError
from triptych.support.terminal import show_for_user
from triptych.support.tracebacks import caller


class LayoutError(TriptychError, ValueError):
    """Root of the errors of the layout algebra; they point at the line that called it."""

    code = "TT0800"

    def __init__(self, title: str, *, found: str = "", expected: str = "", instead: str = "") -> None:
        super().__init__(title, span=caller(), found=found, expected=expected, instead=instead)
        show_for_user()  # the algebra has no entry points of its own, which would do it


class NotationError(LayoutError):
    """A text is not in the layout notation."""

    code = "TT0801"
    failing = """
from triptych.layout import Layout

Layout.parse("(4,8:(8,1)")
"""
    fixed = """
from triptych.layout import Layout

Layout.parse("(4,8):(8,1)")
"""


class ProfileError(LayoutError):
    """Two nested tuples, or a tuple and a mode, do not fit together."""

    code = "TT0802"
    failing = """
from triptych.layout import make_layout

make_layout((4, 8), stride=(1, 4, 32))
"""
    fixed = """
from triptych.layout import make_layout

make_layout((4, 8), stride=(1, 4))
"""


class DivisibilityError(LayoutError):
    """The exact result is not a layout, because an extent or a stride does not divide another."""

    code = "TT0803"
    failing = """
from triptych.layout import Layout, composition

composition(Layout((4, 3), (3, 1)), Layout(3, 3))
"""
    fixed = """
from triptych.layout import Layout, composition

composition(Layout((4, 3), (3, 1)), Layout(3, 4))
"""


class OverlapError(LayoutError):
    """Two coordinates of a layout share an index where every index may be used once."""

    code = "TT0804"
    failing = """
from triptych.layout import Layout, complement

complement(Layout((4, 4), (1, 2)), 16)
"""
    fixed = """
from triptych.layout import Layout, complement

complement(Layout((4, 4), (1, 4)), 16)
"""


class UndecidableError(LayoutError):
    """The answer depends on an integer that is known later; nothing is assumed unless the program says so."""

    code = "TT0805"
    failing = """
from triptych.layout import Layout, composition

composition(Layout.parse("(?,?):(?,?)"), Layout(4, 1))
"""
    fixed = """
from triptych.layout import Layout, assuming, composition

with assuming() as needs:
    composition(Layout.parse("(?,?):(?,?)"), Layout(4, 1))
print(*needs)
"""


class SwizzleError(LayoutError):
    """The bit fields of a swizzle overlap, or a change of the element size would tear them apart."""

    code = "TT0806"
    failing = """
from triptych.layout import make_swizzle

make_swizzle(3, 0, 2)
"""
    fixed = """
from triptych.layout import make_swizzle

make_swizzle(3, 0, 3)
"""


class DeclarationError(LayoutError):
    """An integer is not what was declared of it: its divisibility, its smallest value, its width."""

    code = "TT0807"
    failing = """
from triptych.layout import make_layout, substitute, sym_int

rows = make_layout((sym_int(divisibility=4, symbol="m"), 8))
substitute(rows, {"m": 6})
"""
    fixed = """
from triptych.layout import make_layout, substitute, sym_int

rows = make_layout((sym_int(divisibility=4, symbol="m"), 8))
substitute(rows, {"m": 12})
"""


class AccessError(LayoutError):
    """The elements that one thread moves at once do not lie next to each other."""

    code = "TT0808"
    failing = """
from triptych.layout import E, Layout, bank_conflicts

bank_conflicts(Layout((32, 32), (1, 32)), Layout((8, 4), (E(0), E(1))))
"""
    fixed = """
from triptych.layout import E, Layout, bank_conflicts

bank_conflicts(Layout((32, 32), (32, 1)), Layout((8, 4), (E(0), E(1))))
"""
