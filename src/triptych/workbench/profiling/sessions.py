"""Profiling session: what a run does is timed from the first line of the file to the last call."""

from __future__ import annotations

import statistics
from _thread import get_ident
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from triptych.driver.listeners import COMPILE_LISTENERS
from triptych.stages import Compiled, Loaded
from triptych.support.timeline import LISTENERS, STAGE, Moment, during, now
from triptych.targets.cpu.runtime.records import are_many, keep_records, take_records
from triptych.workbench.profiling.chrome_trace import BLOCKS, LAUNCH, WAIT, Bar, Threads, bar_of, bar_of_record

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
