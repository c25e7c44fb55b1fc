"""Pipeline protocol: calls that belong together, and its violations, with the call to add or to remove.

A stage is taken by one call and given on by its partner, once each, and then the state goes to the next stage. What a
kernel does otherwise is no error by itself. It explains one: threads that wait for ever, or a race.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum

from triptych.support.dataclass import dataclass
from triptych.support.source import Span


class ViolationKind(IntEnum):
    """What a warp did with a stage; native code knows these numbers, beside those of findings."""

    GIVEN_TWICE = 40
    NOT_TAKEN = 41
    TAKEN_TWICE = 42
    NOT_GIVEN = 43
    NOT_ADVANCED = 44
    WRONG_PHASE = 45
    SKIPPED = 46
    CALLED = 47
    """Nothing wrong: a pipeline of the kernel is used."""
    GROUP = 48
    """Nothing wrong: a group that takes turns has come; its number stands for a stage."""
    NOT_CLOSED = 49
    NOT_ACQUIRED = 50


@dataclass(frozen=True, slots=True)
class Call:
    """A method of a pipeline: whether it takes a stage or gives one on, and what that is called."""

    takes: bool
    partner: str
    done: str
    """As in: a stage that is ..."""
    side: int = 0
    """Producers and consumers hold stages apart from each other."""
    user: str = ""
    """What its state is for."""


CALLS = {
    "producer_acquire": Call(True, "producer_commit", "acquired", user="Producer"),
    "producer_commit": Call(False, "producer_acquire", "committed", user="Producer"),
    "consumer_wait": Call(True, "consumer_release", "waited for", 1, "Consumer"),
    "consumer_release": Call(False, "consumer_wait", "released", 1, "Consumer"),
    "wait": Call(True, "arrive", "waited for"),
    "arrive": Call(False, "wait", "given on"),
}


LOOSE = frozenset({"PipelineTmaAsync", "PipelineTmaUmma", "PipelineClcFetchAsync"})
"""Pipelines whose copies say themselves that a stage is full: a commit may be left out."""
STORES, TAIL = "PipelineTmaStore", "producer_tail"
"""The pipeline of bulk stores, and its call that waits for all of them: see `store_calls`."""
_NO_SENTENCE = (ViolationKind.CALLED, ViolationKind.GROUP, ViolationKind.NOT_CLOSED, ViolationKind.NOT_ACQUIRED)


@dataclass(frozen=True, slots=True)
class Place:
    """A call in the source: of which pipeline, by its number in the kernel and its class."""

    name: str
    pipeline: int
    kind: str
    span: Span | None
    stages: int = 1
    ring: int = 1
    """The stages of the state that it is called with."""
    groups: int = 0
    """How many take turns."""

    @property
    def line(self) -> str:
        return "a line" if self.span is None else f"line {self.span.line}"


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that was done wrong: the call before, this one, and the stage."""

    what: ViolationKind
    previous: Place
    current: Place
    stage: int
    kernel: str
    called: tuple[Place, ...]
    """All calls of pipelines that the kernel has."""


_SOURCES: list[Callable[[], Sequence[Violation]]] = []


def add_source(source: Callable[[], Sequence[Violation]]) -> None:
    """Whoever records calls while kernels run says here what was wrong, in launches that have not ended."""
    _SOURCES.append(source)


@dataclass(frozen=True, slots=True)
class Explanation:
    """One sentence: which call to add or to remove; nothing where all calls are as they should be."""

    text: str = ""
    is_sure: bool = False
    """Whether no right program does that."""
    span: Span | None = None


NOTHING_WRONG = Explanation()


def explained(spans: Sequence[Span]) -> tuple[Explanation, Explanation]:
    """What is wrong with pipelines that run now: those with a call at one of these lines, and others of the files."""
    lines, files = {(span.file, span.line) for span in spans}, {span.file for span in spans}
    found = [each for source in _SOURCES for each in source()]
    found = [each for each in found if each.current.span is not None and each.current.span.file in files]
    own = [each for each in found if lines & _lines_of_calls(each)]
    return explanation(own), explanation([each for each in found if each not in own])


def _calls_of(found: Violation) -> list[Place]:
    """Of the same pipeline."""
    return [each for each in found.called if each.pipeline == found.current.pipeline]


def _lines_of_calls(found: Violation) -> set[tuple[str, int]]:
    spans = [each.span for each in _calls_of(found)]
    return {(span.file, span.line) for span in spans if span is not None}


def explanation(found: Sequence[Violation]) -> Explanation:
    """The first of what is surely wrong, then what nobody calls, then what may be meant."""
    for each in found:
        if rings := [place for place in _calls_of(each) if place.ring != place.stages]:
            return Explanation(_other_ring(rings[0]), is_sure=True, span=rings[0].span)
    ranked = sorted((each for each in found if each.what not in _NO_SENTENCE), key=lambda each: each.what)
    for each in ranked:
        if each.what < ViolationKind.WRONG_PHASE:
            return Explanation(_sentence(each), is_sure=True, span=each.current.span)
    groups = [_groups(each, found) for each in found if each.what == ViolationKind.GROUP]
    for said in groups:
        if said.is_sure:
            return said
    never = next(filter(None, (_never_called(each) for each in found)), "")
    absent = next((each.text for each in groups if each.text), "")
    return Explanation(absent or never or (_sentence(ranked[0]) if ranked else ""))


def _other_ring(place: Place) -> str:
    return (
        f"`make_pipeline_state(..., {place.stages})` for the state of {place.line}: it has {place.ring} stages, and "
        f"the {place.kind} {place.stages}"
    )


def _groups(found: Violation, others: Sequence[Violation]) -> Explanation:
    """Groups that take turns must be as many as the pipeline waits for."""
    same = [
        each for each in others if each.what == ViolationKind.GROUP and each.current.pipeline == found.current.pipeline
    ]
    came, now = {each.stage for each in same}, found.current
    if found.stage >= now.groups:
        text = (
            f"a `group_id` below {now.groups}, or `length={found.stage + 1}` of the {now.kind}: group {found.stage} "
            f"comes at {now.line}"
        )
        return Explanation(text, is_sure=True, span=now.span)
    absent = [number for number in range(now.groups) if number not in came]
    if not absent:
        return NOTHING_WRONG
    return Explanation(
        f"`length={len(came)}` of the {now.kind}, or another `group_id`: of its {now.groups} groups nobody has come to "
        f"{now.line} as group {absent[0]}"
    )


def _sentence(found: Violation) -> str:
    what = "place" if found.current.groups else "stage"
    before, now, stage = found.previous, found.current, f"{what} {found.stage} of the {found.current.kind}"
    call = CALLS[now.name]
    partner, lines = CALLS[call.partner], _lines(before, now)
    if found.what == ViolationKind.GIVEN_TWICE:
        return (
            f"one `{now.name}` for each `{call.partner}`, not two: {stage} is {call.done} twice, {lines}, and was "
            f"{partner.done} once"
        )
    if found.what == ViolationKind.NOT_TAKEN:
        less = f", or one `{now.name}` less" if now.groups else ""
        return f"`{call.partner}` before {now.line}{less}: {stage} is {call.done} there, and was not {partner.done}"
    if (
        found.what == ViolationKind.TAKEN_TWICE
        and before.span != now.span
        and not (now.groups and before.line != now.line)
    ):
        return f"one `{now.name}` for each {what}, not two: {stage} is {call.done} twice, {lines}"
    if found.what in (ViolationKind.NOT_GIVEN, ViolationKind.TAKEN_TWICE):
        again = f"the next `{now.name}`" if before.span == now.span else now.line
        less = f", or one `{now.name}` less" if now.groups and before.span != now.span else ""
        return (
            f"`{call.partner}` behind {before.line}, before {again}{less}: {stage} is {call.done} there and never "
            f"{partner.done}"
        )
    if found.what == ViolationKind.WRONG_PHASE:
        return (
            f"a state of `make_pipeline_state(PipelineUserType.{call.user}, stages)` at {now.line}: the first phase of "
            f"the one that `{now.name}` has there is that of the other side"
        )
    if found.what == ViolationKind.NOT_ADVANCED:
        return f"`advance()` of the state behind {before.line}: {stage} is {call.done} again with the state of before"
    return (
        f"one `advance()` of the state for each stage: {now.line} comes to {stage}, and the one before it is left out"
    )


def _lines(before: Place, now: Place) -> str:
    return f"at {now.line}" if before.line == now.line else f"at {before.line} and {now.line}"


def _never_called(found: Violation) -> str:
    """A pipeline some of whose calls the kernel does not have."""
    if found.current.kind == STORES:
        return ""
    mine = [each for each in _calls_of(found) if each.name != TAIL]
    names = {each.name for each in mine}
    for place in mine:
        partner = CALLS[place.name].partner
        if partner not in names and not (place.kind in LOOSE and partner == "producer_commit"):
            done = CALLS[partner].done
            where = "behind" if CALLS[place.name].takes else "before"
            return f"`{partner}` {where} {place.line}: no stage of the {place.kind} is ever {done}"
    return ""


def store_explanation(found: Sequence[Violation], store: Span | None, *, has_ended: bool) -> Explanation:
    """Of a store whose memory is written too early, or which nobody waits for when the block has ended."""
    mine = [each for each in found if each.current.kind == STORES]
    if not mine:
        return NOTHING_WRONG
    for each in mine:
        if each.what == ViolationKind.NOT_CLOSED and each.previous.span == store:
            return _sure(
                f"`producer_commit` behind {each.previous.line}, before {each.current.line}, by the warp that stores: "
                f"`{each.current.name}` waits for stores that are committed"
            )
    if has_ended:
        return _never_awaited(mine[0])
    for each in mine:
        if each.what == ViolationKind.NOT_ACQUIRED:
            return _sure(
                f"`producer_acquire` behind {each.previous.line}, by the warp that stores: the {STORES} has "
                f"{each.current.stages} stages, and more are committed without it"
            )
    return _too_early(mine[0])


def _sure(text: str) -> Explanation:
    """No span: without a finding nothing is reported."""
    return Explanation(text, is_sure=True)


def _never_awaited(found: Violation) -> Explanation:
    if not (closed := _calls(found, "producer_commit")):
        return _sure(f"`producer_commit` and `{TAIL}` of the {STORES} behind the store, by the same warp")
    return _sure(f"`{TAIL}` of the {STORES} behind the last store, by the warp that commits at {closed[0].line}")


def _too_early(found: Violation) -> Explanation:
    """All calls are there: then it is the number of stages, or the other threads do not know."""
    acquired = _calls(found, "producer_acquire")
    behind = f"`producer_acquire` at {acquired[0].line}" if acquired else f"`{TAIL}`"
    left = found.current.stages - 1 if acquired else 0
    leaves = (
        f"; the last {left} may still be read behind it: `num_stages` says how many are filled in turn" if left else ""
    )
    return _sure(f"a barrier behind {behind}, which tells its own warp only, before this line{leaves}")


def _calls(found: Violation, name: str) -> list[Place]:
    return [each for each in found.called if each.name == name and each.kind == STORES]
