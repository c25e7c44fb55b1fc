"""Meta-stage, coordinates that are known while tracing: one outside its tensor is an error at its own line."""

from __future__ import annotations

from types import EllipsisType

from triptych.cute.tracing.cute_errors import TensorIndexError
from triptych.layout import Coord, Shape, product, text
from triptych.metastage.trace.trace import place
from triptych.support.articles import with_article

_NO_COORDINATES = (slice, EllipsisType, float, complex, str, list, dict, set)
"""What indexes arrays, or nothing at all."""


def check_inside(coord: Coord, shape: Shape, what: object) -> None:
    """Refuse integers of a coordinate that lie outside their mode, as far as both are known now.

    A coordinate that does not fit the shape at all is left to the layout, which says so better.
    """
    if isinstance(coord, _NO_COORDINATES):
        raise _no_coordinate(coord, what)
    if isinstance(coord, tuple) and isinstance(shape, tuple):
        if len(coord) == len(shape):
            for part, extent in zip(coord, shape, strict=True):
                check_inside(part, extent, what)
    elif isinstance(coord, tuple):
        if len(coord) == 1:
            check_inside(coord[0], shape, what)
    elif isinstance(coord, int):
        count = product(shape)
        if coord < 0 or (isinstance(count, int) and coord >= count):
            raise TensorIndexError(
                f"the index {coord} lies outside a mode of {count} elements",
                span=place(),
                found=f"index {coord} in the shape {text(shape)} of {what}",
                expected=f"an index from 0 to {count - 1}" if isinstance(count, int) else "an index from 0",
                instead=_instead(coord),
            )


def _instead(index: int) -> str:
    if index >= 0:
        return "a smaller index, or a larger tensor"
    return f"`x[cute.size(x) - {-index}]`: indices count from the front"


def _no_coordinate(part: object, what: object) -> TensorIndexError:
    """What an array takes as an index and a tensor does not."""
    if part == slice(None):
        shown, instead = "`:`", "`None` for a whole mode, as `x[None, 0]`"
    elif isinstance(part, slice):
        shown = "a slice of a mode"
        instead = "`cute.local_tile(x, (n,), (i,))`, tile i of n elements, or `cute.domain_offset((start,), x)`"
    elif part is ...:
        shown, instead = "`...`", "`None` for each whole mode, as `x[None, None, 0]`"
    elif isinstance(part, float):
        shown, instead = repr(part), "`int(i)`, or `//` in place of `/`"
    else:
        shown, instead = with_article(type(part).__name__), "an integer for each mode, `None` for a whole mode"
    return TensorIndexError(
        f"{shown} is no coordinate of a tensor",
        span=place(),
        found=f"{shown} in a coordinate of {what}",
        expected="integers, run-time or not, and `None` for modes that are kept",
        instead=instead,
    )
