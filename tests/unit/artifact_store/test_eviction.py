"""The budget of a directory: who leaves, what is left, and what a wrong clock does."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.support.stores import entry_of, events, files_of, key_of, kinds, store_in
from triptych.artifact_store.directory import TOUCH_AFTER
from triptych.artifact_store.record import Entry, digest_of

MIB = 1 << 20


def bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for part in ("ac", "cas") for path in files_of(folder, part))


def age(folder: Path, number: int, seconds: float) -> None:
    """Have an entry be used so long ago."""
    store = store_in(folder)
    listed = next(one for one in store.entries() if one.key == key_of(number))
    then = time.time() - seconds
    artifact = store._local.path("cas", digest_of(content(number)))
    for path in (store._local.path("ac", listed.key), artifact):
        os.utime(path, (then, then))


def content(number: int) -> bytes:
    return b"%08d" % number * 1000


def publish(folder: Path, *numbers: int, budget: int = 1 << 40) -> None:
    store = store_in(folder, budget=budget)
    for number in numbers:
        store.publish(key_of(number), Entry({}, {"object": content(number)}))


def test_budget_holds_while_much_is_published(tmp_path: Path) -> None:
    budget = 160_000
    with events() as seen:
        for number in range(60):
            publish(tmp_path / "s", number, budget=budget)
            assert bytes_in(tmp_path / "s") <= budget
    assert "evict" in kinds(seen)
    assert len(list(store_in(tmp_path / "s").entries())) >= 10
    assert store_in(tmp_path / "s").find(key_of(59)) is not None


def test_least_recently_used_leaves_first(tmp_path: Path) -> None:
    publish(tmp_path / "s", 0, 1, 2, 3)
    for number, seconds in enumerate([4000, 3000, 2000, 1000]):
        age(tmp_path / "s", number, seconds)
    store = store_in(tmp_path / "s")
    assert store.find(key_of(0)) is not None  # used now
    pruned = store.prune(20_000)
    assert pruned.left <= 20_000
    assert pruned.freed >= 16_000
    assert [store.find(key_of(number)) is not None for number in range(4)] == [True, False, False, True]


def test_nothing_is_evicted_within_the_budget(tmp_path: Path) -> None:
    publish(tmp_path / "s", *range(4))
    assert store_in(tmp_path / "s").prune(MIB).files == 0
    assert store_in(tmp_path / "s").prune(0).left == 0
    assert list(store_in(tmp_path / "s").entries()) == []


def test_entry_that_lost_an_artifact_is_a_miss(tmp_path: Path) -> None:
    publish(tmp_path / "s", 1)
    files_of(tmp_path / "s", "cas")[0].unlink()
    with events() as seen:
        assert store_in(tmp_path / "s").find(key_of(1)) is None
    assert kinds(seen) == ["evict", "miss"]
    assert files_of(tmp_path / "s", "ac") == []


def test_reading_marks_as_used_but_not_each_time(tmp_path: Path) -> None:
    publish(tmp_path / "s", 1)
    path = files_of(tmp_path / "s", "ac")[0]
    store = store_in(tmp_path / "s")
    before = path.stat().st_mtime_ns
    store.find(key_of(1))
    assert path.stat().st_mtime_ns == before
    age(tmp_path / "s", 1, TOUCH_AFTER + 10)
    store.find(key_of(1))
    assert time.time() - path.stat().st_mtime < 5
    list(store.entries())


@pytest.mark.parametrize("ahead", [3600.0, 10 * 365 * 86400.0])
def test_times_in_the_future_do_not_stay(tmp_path: Path, ahead: float) -> None:
    """A clock that was set back: entries from then are used now, and age from now on."""
    publish(tmp_path / "s", 0, 1)
    age(tmp_path / "s", 0, -ahead)
    store = store_in(tmp_path / "s")
    store.prune(MIB)
    for path in files_of(tmp_path / "s", "ac"):
        assert path.stat().st_mtime <= time.time() + 1
    age(tmp_path / "s", 1, -ahead)
    assert store.find(key_of(1)) is not None
    for path in files_of(tmp_path / "s", "ac"):
        assert path.stat().st_mtime <= time.time() + 1


def test_files_of_killed_writers_leave_and_those_of_others_stay(tmp_path: Path) -> None:
    publish(tmp_path / "s", 1)
    for name, seconds in [("old", 7200), ("new", 5), ("strange", -7200)]:
        path = tmp_path / "s" / "tmp" / name
        path.write_bytes(b"half")
        os.utime(path, (time.time() - seconds,) * 2)
    store_in(tmp_path / "s").prune(MIB)
    assert [path.name for path in (tmp_path / "s" / "tmp").iterdir()] == ["new"]


def test_look_up_does_not_depend_on_how_many_there_are(tmp_path: Path) -> None:
    """Counted, not timed: no look-up lists a directory."""
    store = store_in(tmp_path / "s")
    store.publish(key_of(1), entry_of(1))
    listed: list[object] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "scandir", listed.append)
        patch.setattr(os, "listdir", listed.append)
        assert store.find(key_of(1)) == entry_of(1)
        assert store.find(key_of(2)) is None
        store.publish(key_of(3), entry_of(3))
    assert listed == []
