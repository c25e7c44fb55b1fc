"""Findings: what is one, what is worst, what a comment allows, and the texts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from triptych.sanitizer.checkers import checkers
from triptych.sanitizer.finding_errors import CheckerLimitError, RaceError, SameValueWarning, error_of, report
from triptych.sanitizer.findings import Collection, Example, Finding, Kind, Site, collecting
from triptych.support.config import override
from triptych.support.setting import SettingError
from triptych.support.source import Span


def finding(
    kind: Kind, before: int, now: int, file: str = "k.py", threads: tuple[int, int] = (0, 40), count: int = 1
) -> Finding:
    def site(line: int, verb: str) -> Site:
        return Site((Span(file, line, function="k"),), verb, 4, line, (0,))

    example = Example((0, 0, 0), *threads, byte=8, epoch=2)
    return Finding(
        kind, "k", site(before, "writes"), site(now, "reads"), count, (example,), threads[0] // 32 == threads[1] // 32
    )


def test_words_are_a_set() -> None:
    with override(debug="init,races"):
        assert checkers() == {"races", "init"}
    with override(debug="all"):
        assert checkers() >= {"bounds", "races", "init"}
    with override(debug="async,bounds"):
        assert "async" in checkers()
    with pytest.raises(SettingError, match="did you mean 'bounds,races'"), override(debug="bounds,raceds"):
        pass


def test_a_pair_is_one_whichever_came_first() -> None:
    collection = Collection()
    collection.add([finding(Kind.WRITE_AFTER_READ, 9, 4, count=2), finding(Kind.READ_AFTER_WRITE, 4, 9, count=3)])
    (only,) = collection.findings
    assert (only.kind, only.count) == (Kind.READ_AFTER_WRITE, 5)


def test_the_worst_comes_first_and_what_a_race_explains_is_left_out() -> None:
    collection = Collection()
    collection.add([finding(Kind.UNINITIALISED, 9, 9), finding(Kind.READ_AFTER_WRITE, 4, 9)])
    collection.add([finding(Kind.SAME_VALUE, 5, 5), finding(Kind.WRITE_AFTER_WRITE, 6, 7)])
    assert [each.kind for each in collection.findings] == [3, 1, 4]
    assert [each.kind for each in collection.faults] == [3, 1]


def test_advice_names_the_lines_and_the_narrowest_barrier() -> None:
    assert (
        error_of(finding(Kind.READ_AFTER_WRITE, 4, 9)).instead == "`cute.arch.sync_threads()` between line 4 and line 9"
    )
    inside = error_of(finding(Kind.WRITE_AFTER_READ, 9, 4, threads=(1, 2)))
    assert inside.instead == "`cute.arch.sync_warp()` after line 9, before line 4 runs again"
    assert any("do not run in step" in note for note in inside.notes)


def test_a_comment_allows_a_code_with_a_reason(tmp_path: Path) -> None:
    file = tmp_path / "k.py"
    file.write_text("a\nb  # triptych: allow TT0630 benign: a hint\n", encoding="utf-8")
    collection = Collection()
    collection.add([finding(Kind.READ_AFTER_WRITE, 1, 2, str(file)), finding(Kind.UNINITIALISED, 2, 2, str(file))])
    assert [reason for _, reason in collection.allowed] == ["benign: a hint"]
    assert [each.kind for each in collection.findings] == [Kind.UNINITIALISED]


def test_without_a_collector_the_worst_is_raised() -> None:
    with pytest.raises(RaceError) as raised:
        report([finding(Kind.READ_AFTER_WRITE, 4, 9), finding(Kind.WRITE_AFTER_WRITE, 5, 6)])
    assert "write to the same place" in raised.value.title
    assert any("another finding" in note for note in raised.value.notes)
    with collecting() as collection:
        report([finding(Kind.READ_AFTER_WRITE, 4, 9)])
    assert len(collection.findings) == 1


def test_a_clock_that_ran_out_is_no_finding_of_the_kernel() -> None:
    assert isinstance(error_of(finding(Kind.CLOCK_OVERFLOW, 1, 1)), CheckerLimitError)


def of(found: Finding, before: str, now: str) -> Finding:
    """The same with other verbs."""
    return replace(found, previous=replace(found.previous, verb=before), current=replace(found.current, verb=now))


@pytest.mark.parametrize(
    ("kind", "before", "now", "title", "instead"),
    [
        (Kind.BEFORE_IT_LANDS, "copies to", "reads", "asynchronous copy has not landed", "cp_async_wait_group(0)"),
        (Kind.BEFORE_IT_LANDS, "begins to load a box", "reads", "a copy may not have landed", "mbarrier_wait"),
        (Kind.NEVER_AWAITED, "copies to", "copies to", "nobody waits for a copy", "cp_async_commit_group"),
        (Kind.NEVER_AWAITED, "x", "begins to store a box", "nobody waits", "cp_async_bulk_wait_group"),
        (Kind.STILL_READ, "begins to store a box", "writes", "a bulk store under way", "bulk_wait_group(0, read=True)"),
        (Kind.STILL_READ, "begins a product", "writes", "a product under way", "warpgroup.wait_group(0)"),
        (Kind.NOT_FENCED, "writes", "begins a product", "written and not fenced", "fence_proxy"),
        (Kind.UNINITIALISED, "reads", "reads", "nobody has written", "a store to that element before"),
    ],
)
def test_a_finding_says_what_is_missing(kind: Kind, before: str, now: str, title: str, instead: str) -> None:
    told = error_of(of(finding(kind, 4, 9), before, now))
    assert title in told.title
    assert instead in told.instead
    assert told.code == finding(kind, 4, 9).code


def test_threads_of_clusters_and_blocks_are_named_by_both() -> None:
    in_cluster = error_of(replace(finding(Kind.READ_AFTER_WRITE, 4, 9), block_threads=32))
    assert "thread 8 of block 1 of the cluster reads what thread 0 of block 0 of the cluster writes" in in_cluster.title
    found = finding(Kind.WRITE_AFTER_WRITE, 4, 9)
    places = [replace(found.examples[0], other=other) for other in ((1, 0, 0), ())]
    between = error_of(replace(found, examples=tuple(places), is_global=True, has_phases=True))
    assert "thread 40 of block (0, 0, 0) and thread 0 of block (1, 0, 0) write" in between.title
    assert "global memory" in between.found
    assert "thread 0 of several blocks and thread 40 of block (0, 0, 0)" in between.notes[0]


def test_advice_without_a_function_that_has_both_and_for_one_line() -> None:
    apart = finding(Kind.READ_AFTER_WRITE, 4, 9)
    elsewhere = replace(apart.current, spans=(Span("other.py", 9, function="g"),))
    assert error_of(replace(apart, current=elsewhere)).instead == "`cute.arch.sync_threads()` between the two accesses"
    alone = finding(Kind.WRITE_AFTER_WRITE, 4, 4)
    assert "line 4 for one thread only" in error_of(replace(alone, previous=alone.current)).instead
    assert "before the loop goes on" in error_of(finding(Kind.READ_AFTER_WRITE, 4, 4)).instead


def test_a_barrier_that_another_pair_needs_is_named_for_both() -> None:
    collection = Collection()
    collection.add([finding(Kind.READ_AFTER_WRITE, 4, 9, threads=(1, 2)), finding(Kind.READ_AFTER_WRITE, 5, 8)])
    assert {each.in_one_warp for each in collection.findings} == {False}
    collection.add([finding(Kind.READ_AFTER_WRITE, 20, 22, threads=(1, 2))])
    assert [each.in_one_warp for each in collection.findings].count(True) == 1


def test_the_same_value_alone_is_a_warning() -> None:
    with pytest.warns(SameValueWarning, match="write the same value"):
        report([finding(Kind.SAME_VALUE, 5, 5)])
