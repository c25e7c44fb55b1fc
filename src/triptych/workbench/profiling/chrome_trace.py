"""Moments and records as a Chrome trace, which Perfetto and `chrome://tracing` open: JSON, written by `json`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from triptych.support.timeline import Moment
from triptych.targets.cpu.runtime.records import Record

PROCESS = 1
BLOCKS, LAUNCH, WAIT = "blocks", "launch", "wait"


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: what a thread did, in microseconds since the profile began.

    It keeps its end and not its length: what ends when the next begins has the same number then, also when rounded.
    """

    name: str
    kind: str
    thread: int
    begin: float
    end: float
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def length(self) -> float:
        return self.end - self.begin


class Threads:
    """Small numbers for threads: the one that calls is 1."""

    def __init__(self, caller: int) -> None:
        self._numbers = {caller: 1}

    def number(self, identity: int) -> int:
        return self._numbers.setdefault(identity, len(self._numbers) + 1)

    def names(self) -> dict[int, str]:
        return {number: "caller" if number == 1 else f"worker {number - 1}" for number in self._numbers.values()}


def bar_of(moment: Moment, began: int, threads: Threads) -> Bar:
    """A moment of Python's."""
    begin, end = (moment.begin - began) / 1e3, (moment.end - began) / 1e3
    return Bar(moment.name, moment.kind, threads.number(moment.thread), begin, end)


def bar_of_record(record: Record, began: int, threads: Threads) -> Bar:
    """A record of the thread pool's."""
    kernel, _, place = record.kernel.partition(", launched at ")
    names = {LAUNCH: f"launch {kernel}", WAIT: "wait for other threads"}
    facts: dict[str, Any] = {"kernel": kernel, "launched at": place}
    if record.what != WAIT:
        facts |= {"first block": record.first, "last block": record.last - 1, "blocks": record.last - record.first}
    begin, end = (record.begin - began) / 1e3, (record.end - began) / 1e3
    return Bar(names.get(record.what, kernel), record.what, threads.number(record.thread), begin, end, facts)


def chrome_trace(events: Iterable[Bar], threads: Threads, title: str, facts: dict[str, Any]) -> dict[str, Any]:
    """The trace; bars of one thread lie within each other, the longest below."""
    names = [{"name": "process_name", "ph": "M", "pid": PROCESS, "args": {"name": title}}]
    for number, name in threads.names().items():
        names.append({"name": "thread_name", "ph": "M", "pid": PROCESS, "tid": number, "args": {"name": name}})
        names.append(
            {"name": "thread_sort_index", "ph": "M", "pid": PROCESS, "tid": number, "args": {"sort_index": number}}
        )
    bars = [
        {
            "name": event.name,
            "cat": event.kind,
            "ph": "X",
            "pid": PROCESS,
            "tid": event.thread,
            "ts": round(event.begin, 3),
            "dur": round(event.length, 3),
            "args": event.facts,
        }
        for event in sorted(events, key=lambda event: (event.thread, event.begin, -event.end))
    ]
    return {"traceEvents": [*names, *bars], "displayTimeUnit": "ms", "otherData": facts}


def overlapping(events: Sequence[Bar]) -> list[tuple[Bar, Bar]]:
    """Pairs of one thread that neither lie within each other nor apart: there should be none."""
    found: list[tuple[Bar, Bar]] = []
    for thread in {event.thread for event in events}:
        open_ones: list[Bar] = []
        own = sorted((e for e in events if e.thread == thread), key=lambda event: (event.begin, -event.end))
        for event in own:
            while open_ones and open_ones[-1].end <= event.begin:
                open_ones.pop()
            if open_ones and event.end > open_ones[-1].end:
                found.append((open_ones[-1], event))
            open_ones.append(event)
    return found
