"""What is said of pipelines whose stages are not taken and given on once each: the call to add or to remove."""

from __future__ import annotations

from dataclasses import replace

import pytest

from triptych.sanitizer.pipeline_protocol import (
    CALLS,
    LOOSE,
    STORES,
    TAIL,
    Place,
    Violation,
    ViolationKind,
    explanation,
    store_explanation,
)
from triptych.support.source import Span


def place(name: str, line: int, kind: str = "PipelineAsync", pipeline: int = 0) -> Place:
    return Place(name, pipeline, kind, Span("kernel.py", line))


def misused(what: ViolationKind, before: Place, now: Place, *called: Place) -> Violation:
    return Violation(what, before, now, 1, "k", called or (before, now))


def test_every_call_has_a_partner_on_its_side() -> None:
    for call in CALLS.values():
        partner = CALLS[call.partner]
        assert (partner.takes, partner.side) == (not call.takes, call.side)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("what", [each for each in ViolationKind if each < ViolationKind.CALLED])
def test_each_misuse_names_a_call_and_a_line(what: ViolationKind, name: str) -> None:
    found = explanation([misused(what, place(name, 7), place(name, 9))])
    assert "`" in found.text
    assert "line" in found.text
    assert found.is_sure == (what < ViolationKind.WRONG_PHASE)


def test_what_is_sure_comes_before_what_may_be_meant() -> None:
    skipped = misused(ViolationKind.SKIPPED, place("consumer_wait", 5), place("consumer_wait", 5))
    twice = misused(ViolationKind.GIVEN_TWICE, place("producer_commit", 7), place("producer_commit", 9))
    assert explanation([skipped, twice]).text.startswith("one `producer_commit` for each `producer_acquire`, not two")
    assert "at line 7 and line 9" in explanation([twice, skipped]).text


def test_a_call_that_nobody_writes_is_missing() -> None:
    calls = [place(name, 5 + i) for i, name in enumerate(CALLS) if name.startswith(("producer", "consumer_wait"))]
    found = explanation([misused(ViolationKind.CALLED, calls[0], calls[0], *calls)])
    assert found.text == "`consumer_release` behind line 7: no stage of the PipelineAsync is ever released"
    assert not found.is_sure


@pytest.mark.parametrize("kind", sorted(LOOSE))
def test_copies_commit_for_themselves(kind: str) -> None:
    calls = [place(name, 5, kind) for name in CALLS if name != "producer_commit" and "_" in name]
    assert not explanation([misused(ViolationKind.CALLED, calls[0], calls[0], *calls)]).text
    assert not explanation([]).text


def test_groups_are_as_many_as_are_waited_for() -> None:
    def said(groups: int, *came: int) -> str:
        now = replace(place("wait", 5, "PipelineOrder"), groups=groups)
        return explanation([Violation(ViolationKind.GROUP, now, now, number, "k", (now,)) for number in came]).text

    assert "nobody has come to line 5 as group 2" in said(3, 0, 1)
    assert "a `group_id` below 1, or `length=2`" in said(1, 0, 1)
    assert "`arrive` behind line 5" in said(2, 1, 0)


def test_a_state_of_other_stages_comes_first() -> None:
    now = replace(place("consumer_wait", 5), stages=2, ring=3)
    found = explanation([misused(ViolationKind.SKIPPED, now, now)])
    assert found.is_sure
    assert "it has 3 stages, and the PipelineAsync 2" in found.text


def test_a_store_lacks_a_commit_an_acquire_or_a_tail() -> None:
    names = ("producer_commit", "producer_acquire", TAIL)
    commit, acquire, tail = (replace(place(name, 7 + i, STORES), stages=2, ring=2) for i, name in enumerate(names))
    store = place("", 6, STORES)

    def said(what: ViolationKind, before: Place, now: Place, *, has_ended: bool = False) -> str:
        found = [misused(what, before, now, commit, acquire, tail)]
        assert not explanation(found).text
        return store_explanation(found, store.span, has_ended=has_ended).text

    assert said(ViolationKind.NOT_CLOSED, store, acquire).startswith("`producer_commit` behind line 6, before line 8")
    assert said(ViolationKind.NOT_ACQUIRED, commit, commit).startswith("`producer_acquire` behind line 7")
    assert said(ViolationKind.CALLED, commit, commit).startswith("a barrier behind `producer_acquire` at line 8")
    assert said(ViolationKind.NOT_ACQUIRED, commit, commit, has_ended=True).startswith("`producer_tail` of the")
    assert not store_explanation(
        [misused(ViolationKind.CALLED, place("wait", 5), place("wait", 5))], None, has_ended=True
    ).text
