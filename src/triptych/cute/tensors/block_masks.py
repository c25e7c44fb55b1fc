"""Meta-stage, masks of blocks: a bit for each block of a cluster that lies along one of its modes."""

from __future__ import annotations

from typing import Any

from triptych.cute.dynamic.integers import ints
from triptych.cute.dynamic.program_integers import Coord
from triptych.cute.dynamic.traced_integers import realize
from triptych.layout import Layout, slice_and_offset
from triptych.layout import make_layout_image_mask as mask_at
from triptych.metastage.scalars import Int32


def make_layout_image_mask(lay: Layout, coord: Coord, mode: int) -> Any:
    """A bit for every index a layout takes along one mode, the others fixed by the coordinate."""
    at: Any = ints(coord)
    if not isinstance(at, tuple) or not 0 <= mode < len(at) or not lay.is_static:
        return mask_at(lay, at, mode)
    _, offset = slice_and_offset((*at[:mode], None, *at[mode + 1 :]), lay)
    if isinstance(offset, int):
        return mask_at(lay, at, mode)
    along = mask_at(lay, tuple(0 for _ in at), mode)
    mask: Int32 = Int32(along) << realize(offset, widest=Int32)
    return mask
