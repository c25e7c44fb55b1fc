"""Sanitizer findings in running kernels, reported to the call that launched, or to whoever collects them.

A finding is a pair of accesses with their lines, how often it was seen, and up to three examples. `error_of` makes an
error of it; where nobody collects, a call raises the worst one when its launch has ended, with the others as notes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from enum import IntEnum

from triptych.sanitizer.pipeline_protocol import NOTHING_WRONG, Explanation
from triptych.support.config import config
from triptych.support.dataclass import dataclass
from triptych.support.source import Span

_ALLOWED = re.compile(r"#\s*triptych:\s*allow\s+(TT\d{4})\b[:\s]*(.*)")
Coordinates = tuple[int, ...]
BOX_STORE, TENSOR_PRODUCT = "begins to store a box", "begins a product in tensor memory"
SCALE_COPY, CLUSTER_REQUEST = "begins to copy scales to tensor memory", "asks for another cluster"
"""What a report says of a bulk store, of a product and of a copy of scales by one thread, and of launch control."""


class Kind(IntEnum):
    """What was found; native code knows these numbers."""

    READ_AFTER_WRITE = 1
    WRITE_AFTER_READ = 2
    WRITE_AFTER_WRITE = 3
    SAME_VALUE = 4
    UNINITIALISED = 5
    CLOCK_OVERFLOW = 6
    BEFORE_IT_LANDS = 7
    NEVER_AWAITED = 8
    STILL_READ = 9
    NOT_FENCED = 10
    UNSET_REGISTER = 11
    NEVER_WRITTEN = 12
    TOO_MANY_MBARRIERS = 13
    MISSING_SCALES = 14
    ASKED_AGAIN = 15


class Arrival(IntEnum):
    """What `triptych check --hints` counts at lines that order threads, beside those numbers."""

    ALONE = 32
    WITH_OTHERS = 33
    INCOMPLETE = 34
    """A block has ended, and fewer have come to a named barrier than it waits for."""
    COMPLETE = 35


_WORST_FIRST = (
    Kind.CLOCK_OVERFLOW,
    Kind.TOO_MANY_MBARRIERS,
    Kind.BEFORE_IT_LANDS,
    Kind.STILL_READ,
    Kind.WRITE_AFTER_WRITE,
    Kind.READ_AFTER_WRITE,
    Kind.WRITE_AFTER_READ,
    Kind.NOT_FENCED,
    Kind.ASKED_AGAIN,
    Kind.UNINITIALISED,
    Kind.MISSING_SCALES,
    Kind.UNSET_REGISTER,
    Kind.NEVER_AWAITED,
    Kind.NEVER_WRITTEN,
    Kind.SAME_VALUE,
)


@dataclass(frozen=True, slots=True)
class Site:
    """An access in the source: its line and those of its callers, and what it does."""

    spans: tuple[Span, ...]
    verb: str
    size: int
    number: int = 0
    """Its place among the accesses of the kernel, in the order of the program."""
    loops: tuple[int, ...] = ()
    """The loops that it is in."""
    pipelines: frozenset[int] = frozenset()
    """Those whose stages it accesses, by their numbers in the kernel."""

    @property
    def is_asynchronous(self) -> bool:
        """Whether it is more than the access of a thread, and has no size."""
        return self.size == 0

    @property
    def span(self) -> Span | None:
        return self.spans[0] if self.spans else None


@dataclass(frozen=True, slots=True)
class Example:
    """One time that it was seen: where, by whom, and which byte."""

    block: Coordinates
    previous: int
    """The thread of the earlier access, by its number in the block."""
    current: int
    byte: int
    """In shared memory."""
    epoch: int
    """Barriers that the block had passed."""
    part: str = ""
    """The element and the allocation that it lies in, in words."""
    allocated: Span | None = None
    other: Coordinates | None = None
    """The block of the earlier access, where it is another one; nothing where there are several."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Two accesses that nothing orders, or one of something that nobody has written."""

    kind: int
    kernel: str
    previous: Site
    current: Site
    count: int
    examples: tuple[Example, ...]
    in_one_warp: bool = False
    """Whether it was only seen between threads of one warp."""
    is_global: bool = False
    """Whether it is about global memory."""
    has_phases: bool = False
    """Whether the kernel has mbarriers."""
    block_threads: int = 0
    """Threads of a block, where those of a cluster are counted through."""
    variable: str = ""
    """What the program calls the tensor that it is about, where that is known."""
    explanation: Explanation = NOTHING_WRONG
    """What the same launch did wrong with the pipelines whose memory it is about."""
    other_pipelines: Explanation = NOTHING_WRONG
    """What it did wrong with others."""
    only_async: bool = False
    """Whether it was found under `async` and without `races`."""
    in_tensor_memory: bool = False
    """Whether it is about tensor memory."""

    @property
    def code(self) -> str:
        """Of the error that it is."""
        return ASYNC_CODE if self.is_async_access else CODES[Kind(self.kind)]

    @property
    def is_async_access(self) -> bool:
        """Whether it is what `async` alone finds: an asynchronous agent and a thread, or two agents."""
        return self.only_async and self._is_of_shared_memory and self._has_agent

    @property
    def is_wanted(self) -> bool:
        """Whether the setting asks for it: threads that race with each other are no matter of `async`."""
        return not (self.only_async and self._is_of_shared_memory) or self._has_agent

    @property
    def _is_of_shared_memory(self) -> bool:
        return not self.is_global and (self.kind in _OF_AGENTS or self.is_race or self.kind == Kind.SAME_VALUE)

    @property
    def _has_agent(self) -> bool:
        return self.kind in _OF_AGENTS or self.previous.is_asynchronous or self.current.is_asynchronous

    @property
    def is_race(self) -> bool:
        """Whether it is of two accesses."""
        return self.kind in (Kind.READ_AFTER_WRITE, Kind.WRITE_AFTER_READ, Kind.WRITE_AFTER_WRITE)

    def pair(self) -> tuple[object, ...]:
        """Findings with the same pair of lines are one, whichever access came first on this machine."""
        kind = "race" if self.is_race else self.kind
        if self.kind == Kind.UNSET_REGISTER:
            return kind, self.kernel, self.previous.spans[:1]
        return kind, self.kernel, frozenset((self.previous.spans[:1], self.current.spans[:1]))

    def is_forward(self) -> bool:
        """Whether the accesses came in the order of the program."""
        return self.previous.number < self.current.number

    def in_a_loop(self) -> bool:
        """Whether a loop runs both again."""
        return bool(set(self.previous.loops) & set(self.current.loops))

    def allowance(self) -> str | None:
        """The reason for which a comment at one of its lines allows it."""
        for span in (*self.previous.spans, *self.current.spans):
            if (found := _ALLOWED.search(span.text())) and found[1] == self.code:
                return found[2].strip() or "no reason given"
        return None


ASYNC_CODE = "TT0628"
"""Whatever `async` finds where `races` is off."""
_OF_AGENTS = frozenset({Kind.BEFORE_IT_LANDS, Kind.NEVER_AWAITED, Kind.STILL_READ, Kind.NOT_FENCED})
CODES = {
    Kind.READ_AFTER_WRITE: "TT0630",
    Kind.WRITE_AFTER_READ: "TT0630",
    Kind.WRITE_AFTER_WRITE: "TT0630",
    Kind.SAME_VALUE: "TT0630",
    Kind.UNINITIALISED: "TT0631",
    Kind.CLOCK_OVERFLOW: "TT0632",
    Kind.TOO_MANY_MBARRIERS: "TT0632",
    Kind.BEFORE_IT_LANDS: "TT0633",
    Kind.NEVER_AWAITED: "TT0633",
    Kind.STILL_READ: "TT0634",
    Kind.NOT_FENCED: "TT0634",
    Kind.UNSET_REGISTER: "TT0635",
    Kind.NEVER_WRITTEN: "TT0636",
    Kind.MISSING_SCALES: "TT0631",
    Kind.ASKED_AGAIN: "TT0627",
}
NOTES = frozenset({Kind.SAME_VALUE, Kind.NEVER_WRITTEN})
"""What is no error by itself."""


class Collection:
    """Findings of a part of a program: equal pairs are one, with their counts added."""

    def __init__(self, only_under: str = "") -> None:
        self.only_under = only_under
        self._found: dict[tuple[object, ...], Finding] = {}
        self.allowed: list[tuple[Finding, str]] = []
        self.orders: set[Span] = set()
        """Where the kernels that were compiled meanwhile order their threads."""
        self.launches = False
        """Whether code was loaded meanwhile that launches kernels."""
        self.arrivals: dict[Span, dict[Arrival, tuple[int, int]]] = {}
        """What was counted there, with the numbers of the first time."""
        self.violations: dict[Span, Explanation] = {}
        """Calls of pipelines that surely are not as they should be, though nothing may have come of it."""

    def add(self, findings: Sequence[Finding]) -> None:
        for finding in findings:
            if (reason := finding.allowance()) is not None:
                if all(each.pair() != finding.pair() for each, _ in self.allowed):
                    self.allowed.append((finding, reason))
                continue
            known = self._found.get(finding.pair())
            self._found[finding.pair()] = finding if known is None else _joined(known, finding)

    def take(self, other: Collection) -> None:
        """What another run found, too."""
        self.add(list(other._found.values()))
        self.add([each for each, _ in other.allowed])
        self.orders |= other.orders
        for span, seen in other.arrivals.items():
            self.arrivals[span] = {**seen, **self.arrivals.get(span, {})}
        self.violations |= other.violations

    @property
    def findings(self) -> list[Finding]:
        """The worst first. What is read too early may not be written yet: that is no finding of its own."""
        raced = {site.spans for each in self._found.values() if each.is_race for site in (each.previous, each.current)}
        early = {each.previous.spans for each in self._found.values() if each.kind == Kind.BEFORE_IT_LANDS}
        raced |= {each.previous.spans for each in self._found.values() if each.kind == Kind.STILL_READ}
        explained = {Kind.UNINITIALISED: raced, Kind.NEVER_AWAITED: early}
        kept = [each for each in self._found.values() if each.current.spans not in explained.get(Kind(each.kind), ())]
        wide = [each for each in kept if each.is_race and not each.in_one_warp]
        return sorted((_widened(each, wide) for each in kept), key=_rank)

    @property
    def faults(self) -> list[Finding]:
        """Those that are more than a note."""
        return [finding for finding in self.findings if finding.kind not in NOTES]


def _widened(finding: Finding, others: Sequence[Finding]) -> Finding:
    """Within a warp, but where a barrier of the block is missing for another pair: that barrier orders this one too."""
    same = finding.is_race and finding.in_one_warp and any(_share_a_gap(finding, other) for other in others)
    return replace(finding, in_one_warp=False) if same else finding


def _share_a_gap(one: Finding, other: Finding) -> bool:
    """Whether one barrier could order two pairs: their lines overlap, or a loop leads from the end of both to both."""
    gaps = [common_lines(each.previous, each.current) for each in (one, other)]
    if one.kernel != other.kernel or None in gaps:
        return False
    (first, last), (begin, end) = (gap for gap in gaps if gap is not None)
    if first < last and begin < end:
        return max(first, begin) < min(last, end)
    return first >= last and begin >= end and bool(set(one.current.loops) & set(other.current.loops))


def common_lines(before: Site, now: Site) -> tuple[int, int] | None:
    """The lines of both accesses, or of the calls that lead to them, in the innermost function that has both."""
    for one in before.spans:
        for other in now.spans:
            if (one.file, one.function) == (other.file, other.function):
                return one.line, other.line
    return None


def _joined(one: Finding, other: Finding) -> Finding:
    if other.is_forward() and not one.is_forward():
        one, other = other, one
    examples = (*one.examples, *(other.examples if one.kind == other.kind else ()))[:3]
    in_one_warp = one.in_one_warp and other.in_one_warp
    explained = one.explanation if one.explanation.text else other.explanation
    others = one.other_pipelines if one.other_pipelines.text else other.other_pipelines
    count = one.count + other.count
    return replace(
        one, count=count, examples=examples, in_one_warp=in_one_warp, explanation=explained, other_pipelines=others
    )


def _rank(finding: Finding) -> tuple[int, int]:
    return _WORST_FIRST.index(Kind(finding.kind)), -finding.count


_EVERYWHERE: list[Collection] = []


@contextmanager
def collecting(only_under: str = "") -> Iterator[Collection]:
    """Inside, calls raise no findings: they are collected, from all threads.

    With words of the setting `debug`: only those of calls under just these words."""
    collection = Collection(only_under)
    _EVERYWHERE.append(collection)
    try:
        yield collection
    finally:
        _EVERYWHERE.remove(collection)


def collector() -> Collection | None:
    """Whoever collects here."""
    found = _EVERYWHERE[-1] if _EVERYWHERE else None
    return None if found is not None and found.only_under not in ("", config().debug) else found


def note_order(span: Span | None) -> None:
    """Pass on to whoever collects a line that orders threads."""
    if span is not None and (taken := collector()) is not None:
        taken.orders.add(span)


def note_launching() -> None:
    """Pass on to whoever collects that there is code now that launches kernels."""
    if (taken := collector()) is not None:
        taken.launches = True


def note_violation(found: Explanation) -> None:
    """Pass on to whoever collects what a launch did wrong with its pipelines."""
    if found.is_sure and found.span is not None and (taken := collector()) is not None:
        taken.violations[found.span] = found


def note_arrival(span: Span, what: Arrival, first: int, second: int) -> None:
    """Pass on to whoever collects how threads came to a line: one alone, or how many that a barrier waits for."""
    if (taken := collector()) is not None:
        taken.arrivals.setdefault(span, {}).setdefault(what, (first, second))
