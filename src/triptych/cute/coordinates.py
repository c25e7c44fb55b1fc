"""Meta-stage, coordinates that are known while tracing: one outside its tensor is an error at its own line."""

from __future__ import annotations

from triptych.cute.errors import TensorIndexError
from triptych.layout import Coord, Shape, product, text
from triptych.metastage.tracing import place


def check_inside(coord: Coord, shape: Shape, what: object) -> None:
    """Refuse integers of a coordinate that lie outside their mode, as far as both are known now.

    A coordinate that does not fit the shape at all is left to the layout, which says so better.
    """
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
            )
