"""What one trace knows of loops that it traces again: why, with what, and what must not happen twice."""

from __future__ import annotations

from triptych.hooks import Place
from triptych.metastage.handed_attributes import TraceAgain
from triptych.metastage.held_output import HeldOutput


class Repetition:
    """The state of one trace."""

    def __init__(self) -> None:
        self.again: TraceAgain | None = None
        """Why the loop that is being traced starts again, until it does."""
        self.found: dict[tuple[tuple[int, int], ...], list[Place]] = {}
        """Attributes that loops were found to assign when they were traced before, by the positions of the loops."""
        self.output = HeldOutput()
        self.done_once = 0
        """How often tracing has done what cannot be taken back."""

    def do_once(self) -> None:
        """What follows cannot be taken back: what was printed before it is printed before it."""
        self.done_once += 1
        self.output.say()

    def check(self) -> None:
        """Start again, if somebody has caught what ended the trace of a loop."""
        if self.again is not None:
            raise self.again
