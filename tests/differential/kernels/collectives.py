"""What threads of the reference machine meet in: barriers, shuffles, votes, reductions; and atomics, which do not wait.

Each name of `cute.arch` makes a `Meeting` that the thread yields; the machine answers when all who take part are there.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from tests.differential.kernels.memory import Pointer
from tests.differential.kernels.typed import NUMBER_TYPES, Number

FULL_MASK = 0xFFFFFFFF

Lanes = Mapping[int, "Meeting"]


@dataclass(frozen=True, slots=True)
class Meeting:
    """Lanes of one warp meet: those in `mask` that exist. `value` is what this thread brings."""

    kind: str
    value: Any = None
    other: Any = None
    mask: int = FULL_MASK
    orders_memory: bool = False

    def is_same(self, other: Meeting) -> bool:
        """Whether a thread waiting for `other` waits for this."""
        return (self.kind, self.mask) == (other.kind, other.mask)

    def answers(self, lanes: Lanes) -> Mapping[int, Any]:
        """What each lane gets, from what all lanes brought."""
        answer = ANSWERS[self.kind]
        return {lane: answer(lane, lanes) for lane in lanes}


@dataclass(frozen=True, slots=True)
class BlockMeeting(Meeting):
    """The threads of a block that have not ended meet."""

    def answers(self, lanes: Lanes) -> Mapping[int, Any]:
        return {}


def _shuffled(source: Callable[[int, int], int]) -> Callable[[int, Lanes], Any]:
    """A lane reads the value of another; a lane that is beyond the warp, or does not exist, leaves it its own."""

    def answer(lane: int, lanes: Lanes) -> Any:
        chosen = source(lane, int(lanes[lane].other.__index__()))
        return lanes[chosen if chosen in lanes else lane].value

    return answer


def _ballot(lane: int, lanes: Lanes) -> Number:
    return NUMBER_TYPES["Int32"](sum(1 << other for other, meeting in lanes.items() if meeting.value))


def _reduced(combine: Callable[[Any, Any], Any]) -> Callable[[int, Lanes], Any]:
    """The lanes of each group of `other` neighbours combine their values."""

    def answer(lane: int, lanes: Lanes) -> Any:
        group = lanes[lane].other
        return reduce(combine, (lanes[other].value for other in sorted(lanes) if other // group == lane // group))

    return answer


ANSWERS: Mapping[str, Callable[[int, Lanes], Any]] = {
    "sync_warp": lambda lane, lanes: None,
    "shuffle_sync": _shuffled(lambda lane, offset: offset),
    "shuffle_sync_up": _shuffled(lambda lane, offset: lane - offset),
    "shuffle_sync_down": _shuffled(lambda lane, offset: lane + offset),
    "shuffle_sync_bfly": _shuffled(lambda lane, offset: lane ^ offset),
    "vote_any_sync": lambda lane, lanes: any(meeting.value for meeting in lanes.values()),
    "vote_all_sync": lambda lane, lanes: all(meeting.value for meeting in lanes.values()),
    "vote_uni_sync": lambda lane, lanes: len({bool(meeting.value) for meeting in lanes.values()}) == 1,
    "vote_ballot_sync": _ballot,
    "warp_reduction_sum": _reduced(operator.add),
    "warp_reduction_max": _reduced(max),
    "warp_reduction_min": _reduced(min),
}


def _meeting(kind: str) -> Callable[..., Meeting]:
    def make(value: Any = None, other: Any = None, *, mask: Any = FULL_MASK) -> Meeting:
        return Meeting(kind, value, other, mask.__index__() & FULL_MASK, orders_memory=kind == "sync_warp")

    return make


def _reduction(kind: str) -> Callable[..., Meeting]:
    return lambda value, *, threads_in_group=32: Meeting(kind, value, threads_in_group)


MEETINGS: Mapping[str, Callable[..., Meeting]] = {
    "sync_threads": lambda: BlockMeeting("sync_threads"),
    **{kind: _reduction(kind) if "reduction" in kind else _meeting(kind) for kind in ANSWERS},
}


def _atomic(combine: Callable[[Any, Any], Any]) -> Callable[[Pointer, Any], None]:
    return lambda pointer, value: pointer.update(combine, value)


ATOMICS: Mapping[str, Callable[[Pointer, Any], None]] = {
    "atomic_add": _atomic(operator.add),
    "atomic_max": _atomic(max),
    "atomic_min": _atomic(min),
    "atomic_and": _atomic(operator.and_),
    "atomic_or": _atomic(operator.or_),
    "atomic_xor": _atomic(operator.xor),
}
