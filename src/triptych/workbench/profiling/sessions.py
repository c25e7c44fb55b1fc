"""Profiling sessions: what a run does is timed from the first line of the file to the last call.

Moments and records become a Chrome trace, which Perfetto and `chrome://tracing` open: JSON, written by `json`.
"""

from __future__ import annotations

import statistics
from _thread import get_ident
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from typing import Any

from triptych.driver.listeners import COMPILE_LISTENERS
from triptych.stages import Compiled, Loaded
from triptych.support.dataclass import dataclass
from triptych.support.timeline import LISTENERS, STAGE, Moment, during, now
from triptych.targets.cpu.runtime.pool import Record, are_many, keep_records, take_records

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


PHASE, CALL = "phase", "call"


@dataclass(slots=True)
class Session:
    """What was seen."""

    runs: bool = True
    """Whether calls of compiled functions run, or do nothing: there is no device for their target."""
    began: int = 0
    ended: int = 0
    moments: list[Moment] = field(default_factory=list)
    blocks: list[Bar] = field(default_factory=list)
    lost: int = 0
    """Records that there was no room for."""
    compiled: list[Compiled] = field(default_factory=list)
    threads: Threads = field(default_factory=lambda: Threads(get_ident()))

    @contextmanager
    def watching(self) -> Iterator[None]:
        """What happens inside is seen. Programs are compiled anew: the store has no stages."""
        if self.runs:
            keep_records()
        LISTENERS.append(self.moments.append)
        COMPILE_LISTENERS.append(self._watch)
        self.began = now()
        try:
            yield
        finally:
            self.ended = now()
            if self.runs:
                self._take()
            COMPILE_LISTENERS.remove(self._watch)
            LISTENERS.remove(self.moments.append)

    def call(self, function: Callable[[], Any], name: str, kind: str) -> None:
        """One call of a kernel, with what its launches did."""
        with during(name, kind):
            function()
        if self.runs and are_many():
            self._take()

    def events(self) -> list[Bar]:
        """All bars."""
        return [*(bar_of(moment, self.began, self.threads) for moment in self.moments), *self.blocks]

    def _take(self) -> None:
        records, lost = take_records()
        self.blocks += [bar_of_record(record, self.began, self.threads) for record in records]
        self.lost += lost

    def _watch(self, loaded: Loaded) -> Loaded:
        self.compiled.append(loaded.compiled)
        if self.runs:
            return loaded
        results = len(loaded.compiled.lowered.traced.results)

        def nothing(*_: object, **__: object) -> Any:
            return [None] * results if results > 1 else None

        return replace(loaded, call=nothing, attempt=None, reads=None)


def summary(events: list[Bar], measured: float) -> dict[str, Any]:
    """Sums of the bars, in seconds."""
    phases = [event for event in events if event.kind == PHASE]
    calls = [event for event in events if event.kind == CALL]
    launches = [event for event in events if event.kind == LAUNCH and _within(event, calls)]
    chunks = [event for event in events if event.kind == BLOCKS and _within(event, calls)]
    waits = [event for event in events if event.kind == WAIT and _within(event, calls)]
    in_calls, in_launches = _sum(calls), _sum(launches)
    return {
        "measured": measured,
        "accounted": _sum(phases) / measured if measured else 1.0,
        "phases": {event.name: event.length / 1e6 for event in phases},
        "compilations": _compilations(events),
        "calls": len(calls),
        "median": statistics.median(event.length for event in calls) / 1e6 if calls else None,
        "in_launches": in_launches / in_calls if in_calls else 0.0,
        "waiting": _sum(waits) / in_launches if in_launches else 0.0,
        "kernels": [_kernel(name, launches, chunks, in_calls) for name in dict.fromkeys(e.name for e in launches)],
        "threads": [
            {
                "thread": thread,
                "busy": (busy := _sum([chunk for chunk in chunks if chunk.thread == thread])),
                "share": busy / in_launches if in_launches else 0.0,
                "chunks": sum(chunk.thread == thread for chunk in chunks),
                "blocks": sum(chunk.facts["blocks"] for chunk in chunks if chunk.thread == thread),
            }
            for thread in sorted({chunk.thread for chunk in chunks})
        ],
    }


def _compilations(events: list[Bar]) -> list[dict[str, Any]]:
    stages = [event for event in events if event.kind == STAGE]
    whole = [event for event in stages if event.name.startswith("compile ")]
    found = []
    for outer in whole:
        parts = [event for event in stages if event is not outer and _within(event, [outer])]
        own = [part for part in parts if not _within(part, [one for one in whole if one is not outer and one in parts])]
        found.append(
            {
                "name": outer.name.removeprefix("compile "),
                "seconds": outer.length / 1e6,
                "stages": {part.name: part.length / 1e6 for part in own},
            }
        )
    return found


def _kernel(name: str, launches: list[Bar], chunks: list[Bar], in_calls: float) -> dict[str, Any]:
    own = [launch for launch in launches if launch.name == name]
    kernel = own[0].facts["kernel"]
    ran = [chunk for chunk in chunks if chunk.name == kernel]
    return {
        "kernel": kernel,
        "launched_at": own[0].facts["launched at"],
        "launches": len(own),
        "seconds": _sum(own),
        "share": _sum(own) / in_calls if in_calls else 0.0,
        "chunks": len(ran),
        "blocks": sum(chunk.facts["blocks"] for chunk in ran),
    }


def _within(event: Bar, others: list[Bar]) -> bool:
    return any(other.begin <= event.begin and event.end <= other.end for other in others)


def _sum(events: list[Bar]) -> float:
    return sum(event.length for event in events) / 1e6
