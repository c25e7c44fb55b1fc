"""Timeline of a process for profilers: stages of compilations, passes, launches. Nobody listens otherwise.

Times are nanoseconds of the clock that the thread pool reads too, so that both can stand on one line.
"""

from __future__ import annotations

import time
from _thread import get_ident
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from triptych.support.dataclass import dataclass

STAGE = "stage"
"""The kind of what a compilation consists of."""
_IS_POSIX = hasattr(time, "clock_gettime_ns")


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that one thread did, from one time to another."""

    name: str
    begin: int
    end: int
    thread: int
    kind: str = ""


LISTENERS: list[Callable[[Moment], None]] = []
"""What is told of every moment when it is over."""


UNDERWAY: dict[int, tuple[str, int]] = {}
"""What threads are at that may take long, and since when, by thread."""


def now() -> int:
    """Nanoseconds."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) if _IS_POSIX else time.perf_counter_ns()


def past(name: str, begin: int, kind: str = "") -> int:
    """What began then is over; the time now, which is when the next thing begins."""
    end = now()
    if LISTENERS:
        moment = Moment(name, begin, end, get_ident(), kind)
        for listener in LISTENERS:
            listener(moment)
    return end


@contextmanager
def underway(name: str) -> Iterator[None]:
    """Let who asks see that this thread is at something that may take long."""
    thread = get_ident()
    outer = UNDERWAY.get(thread)
    UNDERWAY[thread] = (name, now())
    try:
        yield
    finally:
        if outer is None:
            UNDERWAY.pop(thread, None)
        else:
            UNDERWAY[thread] = outer


@contextmanager
def during(name: str, kind: str = "") -> Iterator[None]:
    """What is done inside, also if it fails."""
    begin = now()
    try:
        yield
    finally:
        past(name, begin, kind)
