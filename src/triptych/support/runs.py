"""Contiguous runs in memory: addresses that follow each other by a known step."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeVar

from triptych.support.dataclass import dataclass

Place = TypeVar("Place")


@dataclass(frozen=True, slots=True)
class Run:
    """`count` places from number `first` on, each `step` after the one before; of one place alone there is none."""

    first: int
    count: int
    step: int | None


def runs(
    places: Sequence[Place], distance: Callable[[Place, Place], int | None], steps: Collection[int]
) -> Iterator[Run]:
    """The longest stretches of one step each, from the first place on.

    `distance` from one place to the next is None where only a run tells it; `steps` are those that count.
    """
    first = 0
    while first < len(places):
        count, step = 1, None
        while first + count < len(places):
            found = distance(places[first + count - 1], places[first + count])
            if found not in steps or step not in (None, found):
                break
            count, step = count + 1, found
        yield Run(first, count, step)
        first += count
