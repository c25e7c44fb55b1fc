"""What one trace knows of loops that it traces again: why, with what, and what must not happen twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from triptych.hooks import Place
from triptych.metastage.trace.deferred_prints import HeldOutput
from triptych.metastage.trace.loop_carried_attributes import TraceAgain


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
        self._made_before: frozenset[int] | None = None
        """While something is traced that Python calls again: the objects that were there before."""

    @contextmanager
    def called_again(self, made: Iterable[int]) -> Iterator[None]:
        """What is traced meanwhile Python calls again: it may change only what it makes itself (all others: `made`)."""
        outer, self._made_before = self._made_before, frozenset(made)
        try:
            yield
        finally:
            self._made_before = outer

    def would_change_twice(self, owner: object, is_made: bool) -> bool:
        """Whether a change of an object is one that Python would repeat."""
        return self._made_before is not None and (not is_made or id(owner) in self._made_before)

    def do_once(self) -> None:
        """What follows cannot be taken back: what was printed before it is printed before it."""
        self.done_once += 1
        self.output.say()

    def check(self) -> None:
        """Start again, if somebody has caught what ended the trace of a loop."""
        if self.again is not None:
            raise self.again
