"""Pass `check-launch`: refuse launches whose clusters have more blocks than any machine runs together."""

from __future__ import annotations

from math import prod

from triptych.ir.errors import LoweringError
from triptych.ir.handles import Module
from triptych.ir.launch import launches
from triptych.ir.location import place_of
from triptych.kernel_ir.dialects.kernel_operations import constant_of

_MOST_BLOCKS = 16


def check_launch(module: Module) -> None:
    """Raise at the first launch in clusters that are too large."""
    for launch in launches(module):
        blocks = prod(constant_of(extent) or 1 for extent in launch.cluster)
        if blocks > _MOST_BLOCKS:
            raise LoweringError(
                f"a cluster has at most {_MOST_BLOCKS} blocks",
                span=place_of(launch.operation),
                found=f"a cluster of {blocks} blocks",
                expected=f"1 to {_MOST_BLOCKS} blocks",
                instead="a smaller `cluster`",
            )
