"""What is said of pipelines whose stages are not taken and given on once each: the call to add or to remove."""

from __future__ import annotations

import pytest

from triptych.support.pipeline_calls import CALLS, LOOSE, Misuse, Misused, Place, explanation
from triptych.support.source import Span


def place(name: str, line: int, kind: str = "PipelineAsync", pipeline: int = 0) -> Place:
    return Place(name, pipeline, kind, Span("kernel.py", line))


def misused(what: Misuse, before: Place, now: Place, *called: Place) -> Misused:
    return Misused(what, before, now, 1, "k", called or (before, now))


def test_every_call_has_a_partner_on_its_side() -> None:
    for call in CALLS.values():
        partner = CALLS[call.partner]
        assert (partner.takes, partner.side) == (not call.takes, call.side)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("what", [each for each in Misuse if each is not Misuse.CALLED])
def test_each_misuse_names_a_call_and_a_line(what: Misuse, name: str) -> None:
    found = explanation([misused(what, place(name, 7), place(name, 9))])
    assert "`" in found.text
    assert "line" in found.text
    assert found.is_sure == (what < Misuse.WRONG_PHASE)


def test_what_is_sure_comes_before_what_may_be_meant() -> None:
    skipped = misused(Misuse.SKIPPED, place("consumer_wait", 5), place("consumer_wait", 5))
    twice = misused(Misuse.GIVEN_TWICE, place("producer_commit", 7), place("producer_commit", 9))
    assert explanation([skipped, twice]).text.startswith("one `producer_commit` for each `producer_acquire`, not two")
    assert "at line 7 and line 9" in explanation([twice, skipped]).text


def test_a_call_that_nobody_writes_is_missing() -> None:
    calls = [place(name, 5 + i) for i, name in enumerate(CALLS) if name.startswith(("producer", "consumer_wait"))]
    found = explanation([misused(Misuse.CALLED, calls[0], calls[0], *calls)])
    assert found.text == "`consumer_release` behind line 7: no stage of the PipelineAsync is ever released"
    assert not found.is_sure


def test_copies_commit_for_themselves() -> None:
    (kind,) = LOOSE
    calls = [place(name, 5, kind) for name in CALLS if name != "producer_commit" and "_" in name]
    assert not explanation([misused(Misuse.CALLED, calls[0], calls[0], *calls)]).text
    assert not explanation([]).text
