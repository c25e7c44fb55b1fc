"""Meta-stage, masks of blocks: a bit for each block of a cluster that lies along one of its modes."""

from __future__ import annotations

from typing import Any

from triptych.cute.dynamic.integers import ints
from triptych.cute.dynamic.traced_integers import realize
from triptych.cute.tensors.program_integers import Coord
from triptych.layout import Layout
from triptych.layout import make_layout_image_mask as mask_at
from triptych.metastage.values.scalars import Int32


def make_layout_image_mask(lay: Layout, coord: Coord, mode: int) -> Any:
    """A bit for every index a layout takes along one mode, the others fixed by the coordinate."""
    at: Any = ints(coord)
    return realize(mask_at(lay, at, mode), widest=Int32)
