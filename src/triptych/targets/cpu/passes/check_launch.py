"""Pass `check-launch`: refuse launches whose blocks are parts of clusters.

Each block has memory of its own, which other blocks cannot reach.
"""

from __future__ import annotations

from triptych.ir.errors import LoweringError
from triptych.ir.handles import Module
from triptych.ir.launch import launches
from triptych.ir.location import place_of


def check_launch(module: Module) -> None:
    """Raise at the first launch in clusters."""
    for launch in launches(module):
        if launch.cluster:
            raise LoweringError(
                "the CPU target has no clusters of several blocks",
                span=place_of(launch.operation),
                found="a launch whose blocks share memory",
                expected="blocks that do not depend on each other",
                instead="no `cluster`, or cluster=(1, 1, 1)",
            )
