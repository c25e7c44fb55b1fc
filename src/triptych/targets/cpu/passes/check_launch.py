"""Pass `check-launch`: refuse launches that need blocks which run at the same time.

The pool runs a block to its end before it takes the next one, so blocks that wait for each other would never end.
"""

from __future__ import annotations

from triptych.ir.errors import LoweringError
from triptych.ir.handles import Module
from triptych.ir.launch import Launch, launches
from triptych.ir.location import place_of


def check_launch(module: Module) -> None:
    """Raise at the first launch in clusters, or of blocks that synchronise as one grid."""
    for launch in launches(module):
        if launch.cluster:
            raise _refused(launch, "clusters of several blocks", "no `cluster`, or cluster=(1, 1, 1)")
        if launch.cooperative:
            raise _refused(launch, "cooperative launches", "one launch for each stretch between two grid barriers")


def _refused(launch: Launch, what: str, instead: str) -> LoweringError:
    return LoweringError(
        f"the CPU target has no {what}",
        span=place_of(launch.operation),
        found="a launch whose blocks wait for each other",
        expected="blocks that do not depend on each other",
        instead=instead,
    )
