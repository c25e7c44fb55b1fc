"""Loop-carried attributes of objects: a branch or loop carries them as it does its variables.

Which they are shows at the assignment: it may be in a function that the construct calls. A branch takes such an
attribute up at once, since what it has read of it so far is right. A loop has to be traced again, because its body read
what the attribute was before the loop where it is to read what the iteration before left in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum, auto
from typing import Any

from triptych.hooks import Names, Place
from triptych.support.source import Span


class Finding(Enum):
    """What a construct does when it turns out to assign an attribute that it does not hand on yet."""

    REFUSED = auto()
    TAKEN_UP = auto()
    TRACED_AGAIN = auto()


class LoopCarriedAttributes:
    """The attributes that one construct hands on, each with its value before the construct."""

    __slots__ = ("_entries", "copied", "done_once", "finding", "found", "origin")

    def __init__(
        self,
        names: Names = (),
        values: Sequence[Any] = (),
        finding: Finding = Finding.REFUSED,
        origin: tuple[tuple[int, int], ...] = (),
        done_once: int = 0,
        copied: frozenset[int] = frozenset(),
    ) -> None:
        pairs = zip(names, values, strict=True)
        self._entries = [(name, value) for name, value in pairs if isinstance(name, Place) and name.owner is not None]
        self.finding = finding
        self.origin = origin
        """Where the construct is written and was called from: what tells it from others when it is traced again."""
        self.done_once = done_once
        """How often tracing had done what cannot be taken back when the construct started."""
        self.copied = copied
        """The variables, by number, that a loop hands on by their numbers: they become other objects in it."""
        self.found: list[Place] = []
        """Those that were taken up while the construct was traced."""

    def before(self, owner: object, attribute: str) -> tuple[Any] | None:
        """What an attribute was before the construct, if the construct hands it on."""
        for place, value in self._entries:
            if place.owner is owner and place.attribute == attribute:
                return (value,)
        return None

    def hands_on(self, owner: object) -> bool:
        """Whether attributes of an object are among them."""
        return any(place.owner is owner for place, _ in self._entries)

    def take_up(self, place: Place, before: object) -> None:
        """Hand on one more attribute from now on."""
        self._entries.append((place, before))
        self.found.append(place)

    def restore(self) -> None:
        """Leave the attributes as they were before the construct."""
        for place, value in self._entries:
            place.value = value

    def found_values(self) -> Iterator[Any]:
        """What those that were taken up are now."""
        return (place.value for place in self.found)

    def found_before(self) -> list[Any]:
        """What those that were taken up were before the construct."""
        return [value for place, value in self._entries[len(self._entries) - len(self.found) :]]


class TraceAgain(BaseException):
    """Ends the trace of a loop that assigns an attribute which it does not hand on, or makes a variable (its number)
    another object: the loop starts again with it.

    Not an Exception: no handler of the user's is meant.
    """

    def __init__(self, loop: LoopCarriedAttributes, place: Place | int) -> None:
        super().__init__(str(place))
        self.loop = loop
        self.place = place


def found_place(owner: object, attribute: str, span: Span | None) -> Place:
    """The place of an attribute that was found at its assignment: named by its class, as nobody knows the variable."""
    place = Place(type(owner).__name__, attribute, owner)
    place.span = span
    return place
