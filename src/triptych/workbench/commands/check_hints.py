"""`triptych check --hints`: lines that order threads and that nothing in this run needed, or that order nobody.

The program runs once with counts of who comes to such a line: one thread that always comes alone waits for nobody, and
a barrier that is never complete when a block ends waits for more than come. It runs once more for each line, with
checkers that overlook that line alone: when they still find nothing, no run needed it. All that is a hint and no
finding, because other inputs may need it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from typing import Any

from triptych.sanitizer.checkers import BARRIER_STATISTICS, suppressing
from triptych.sanitizer.findings import Arrival, Collection, collecting
from triptych.support.config import override
from triptych.support.source import Span
from triptych.workbench.commands.checked_program import Program

_VIOLATION = "a stage of a pipeline is not taken and given on once each, at line {}; nothing came of it in this run"


@dataclass(frozen=True, slots=True)
class Hint:
    """A line, what is said of it, and what to do."""

    span: Span
    title: str
    instead: str

    def text(self) -> str:
        """For people."""
        return f"hint: {self.title}\n  --> {self.span}\n   | {self.span.text().strip()}\n   = write: {self.instead}"

    def facts(self) -> dict[str, Any]:
        """For scripts."""
        return {**asdict(self.span), "title": self.title, "instead": self.instead}


def hints_of(program: Program, words: str) -> list[Hint]:
    """Those of each line, in the order of the program; what is said of who comes says more than that none needs it."""
    counted = _run(program, f"{words},{BARRIER_STATISTICS}")
    lines = {(span.file, span.line): span for span in counted.orders}
    found: list[Hint] = []
    for _, span in sorted(lines.items()):
        same_line = [seen for place, seen in counted.arrivals.items() if (place.file, place.line) == _line(span)]
        came: dict[Arrival, tuple[int, int]] = {}
        for seen in same_line:
            came = {**seen, **came}
        said = _said_of_who_comes(span, came)
        if said is None and not _run(program, f"{words},{suppressing(span)}").findings:
            said = Hint(span, f"no run needed what line {span.line} orders", "nothing, if other inputs do not need it")
        found += [said] if said is not None else []
    violations = sorted(counted.violations.items(), key=lambda item: _line(item[0]))
    return found + [Hint(span, _VIOLATION.format(span.line), each.text) for span, each in violations]


def _said_of_who_comes(span: Span, came: Mapping[Arrival, tuple[int, int]]) -> Hint | None:
    if Arrival.INCOMPLETE in came and Arrival.COMPLETE not in came:
        arrived, expected = came[Arrival.INCOMPLETE]
        title = f"the barrier at line {span.line} is never complete: blocks end after {arrived} of {expected} threads"
        return Hint(span, title, f"number_of_threads={arrived}, or let the other {expected - arrived} come")
    if Arrival.ALONE in came and Arrival.WITH_OTHERS not in came:
        thread, _ = came[Arrival.ALONE]
        title = f"one thread of its warp comes to line {span.line}, always alone, such as thread {thread}"
        return Hint(span, title, "it where all threads come that are to be ordered, or nothing")
    return None


def _line(span: Span) -> tuple[str, int]:
    return span.file, span.line


def _run(program: Program, words: str) -> Collection:
    """What a run finds, orders and counts."""
    with override(debug=words, cache=False), collecting() as collection, redirect_stdout(sys.stderr):
        program()
    return collection
