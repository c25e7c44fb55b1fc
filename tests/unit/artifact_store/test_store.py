"""Look up, publish, list, verify, and a store that cannot be used."""

from __future__ import annotations

import errno
import os
import pickle
import stat
import time
import warnings
from pathlib import Path

import pytest

from tests.support.stores import entry_of, events, files_of, key_of, kinds, store_in
from triptych.artifact_store import events as events_module
from triptych.artifact_store.configured import default_store
from triptych.artifact_store.directory import Directory
from triptych.artifact_store.events import StoreWarning
from triptych.artifact_store.record import Entry
from triptych.support.config import override, read

pytestmark = pytest.mark.filterwarnings("ignore:.* that is no entry:triptych.artifact_store.events.StoreWarning")


@pytest.fixture(autouse=True)
def no_warning_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events_module, "_WARNED", set())


def test_what_was_published_is_found(tmp_path: Path) -> None:
    store = store_in(tmp_path / "s")
    with events() as seen:
        assert store.find(key_of(1)) is None
        store.publish(key_of(1), entry_of(1))
        assert store.find(key_of(1)) == entry_of(1)
        assert store_in(tmp_path / "s").find(key_of(1)) == entry_of(1)
        assert store.find(key_of(2)) is None
    assert kinds(seen) == ["miss", "publish", "hit", "hit", "miss"]


def test_what_is_not_found_is_made_once(tmp_path: Path) -> None:
    """By the first who needs it; again where the entry cannot be used; and not kept where there is none."""
    store = store_in(tmp_path / "s")
    made: list[int] = []

    def make(number: int, keep: bool = True) -> tuple[int, Entry | None]:
        made.append(number)
        return number, Entry({"number": number}, {}) if keep else None

    def read(entry: Entry) -> int | None:
        number = entry.facts["number"]
        return number if type(number) is int and number > 0 else None

    assert [store.find_or_make(key_of(1), read, lambda: make(5)) for _ in range(3)] == [5, 5, 5]
    assert [store.find_or_make(key_of(2), read, lambda: make(-1)) for _ in range(2)] == [-1, -1]
    assert [store.find_or_make(key_of(3), read, lambda: make(7, keep=False)) for _ in range(2)] == [7, 7]
    assert made == [5, -1, -1, 7, 7]


def test_entries_without_artifacts_and_with_empty_ones(tmp_path: Path) -> None:
    store = store_in(tmp_path / "s")
    for number, entry in enumerate([Entry({}, {}), Entry({"ü": "é\u2028"}, {"object": b""})]):
        store.publish(key_of(number), entry)
        assert store.find(key_of(number)) == entry


def test_publishing_again_replaces(tmp_path: Path) -> None:
    store = store_in(tmp_path / "s")
    store.publish(key_of(1), entry_of(1))
    store.publish(key_of(1), entry_of(2))
    assert store.find(key_of(1)) == entry_of(2)


def test_an_artifact_of_two_entries_is_one_file(tmp_path: Path) -> None:
    store = store_in(tmp_path / "s")
    for number in range(5):
        store.publish(key_of(number), Entry({}, {"object": b"same"}))
    assert len(files_of(tmp_path / "s", "cas")) == 1


def test_files_are_private_and_nothing_is_left_over(tmp_path: Path) -> None:
    store = store_in(tmp_path / "s")
    store.publish(key_of(1), entry_of(1))
    with store.flight(key_of(1)):
        pass
    for path in (tmp_path / "s").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    assert list((tmp_path / "s" / "tmp").iterdir()) == []
    assert list((tmp_path / "s" / "claims").iterdir()) == []


@pytest.mark.parametrize("key", ["", "../../etc/passwd", "A" * 64, "a" * 63, "a" * 64 + "/"])
def test_only_digests_are_keys(tmp_path: Path, key: str) -> None:
    store = store_in(tmp_path / "s")
    for ask in (store.find, store.flight, lambda key: store.publish(key, entry_of(1))):
        with pytest.raises(ValueError, match="SHA-256"):
            ask(key)


def test_facts_that_are_not_json_are_the_callers_mistake(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        store_in(tmp_path / "s").publish(key_of(1), Entry({"a": object()}, {}))  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="JSON"):
        store_in(tmp_path / "s").publish(key_of(1), Entry({"a": float("nan")}, {}))


def test_pickles_are_not_loaded(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(tmp_path / "sprung"),)

    store = store_in(tmp_path / "s")
    store.publish(key_of(1), entry_of(1))
    for path in files_of(tmp_path / "s", "ac") + files_of(tmp_path / "s", "cas"):
        path.write_bytes(pickle.dumps(Trap()))
    assert store.find(key_of(1)) is None
    assert not (tmp_path / "sprung").exists()


def test_listing_says_sizes_and_times(tmp_path: Path) -> None:
    store = store_in(tmp_path / "s")
    for number in range(3):
        store.publish(key_of(number), entry_of(number))
    files_of(tmp_path / "s", "ac")[0].write_bytes(b"{}")
    listed = list(store.entries())
    assert len(listed) == 2
    assert [one.key for one in listed] == sorted(one.key for one in listed)
    for one in listed:
        assert one.artifacts == {"object": 200, "mlir": 9}
        assert one.bytes > 209
        assert abs(one.used - time.time()) < 60


def test_verify_discards_what_is_wrong_and_keeps_the_rest(tmp_path: Path) -> None:
    store = store_in(tmp_path / "s")
    for number in range(6):
        store.publish(key_of(number), Entry({}, {"object": b"%d" % number}))
    records, artifacts = files_of(tmp_path / "s", "ac"), files_of(tmp_path / "s", "cas")
    records[0].write_bytes(records[1].read_bytes())
    artifacts[2].write_bytes(b"other")
    (tmp_path / "s" / "ac" / "00").mkdir(exist_ok=True)
    (tmp_path / "s" / "ac" / "00" / "note.json").write_text("mine")
    checked = store.verify()
    assert checked.good in (4, 5)  # artifact 2 may have been the one of record 0
    assert len(checked.discarded) in (3, 4)
    again = store.verify()
    assert (again.good, again.discarded) == (checked.good, ())


def test_shared_directory_is_read_and_never_written(tmp_path: Path) -> None:
    store_in(tmp_path / "shared").publish(key_of(1), entry_of(1))
    before = sorted((path, path.stat().st_mtime_ns) for path in (tmp_path / "shared").rglob("*"))
    store = store_in(tmp_path / "s", shared=str(tmp_path / "shared"))
    with events() as seen:
        assert store.find(key_of(1)) == entry_of(1)
        assert store.find(key_of(1)) == entry_of(1)
        store.publish(key_of(2), entry_of(2))
    assert [(event.kind, event.tier) for event in seen[:2]] == [("hit", "shared"), ("hit", "local")]
    assert sorted((path, path.stat().st_mtime_ns) for path in (tmp_path / "shared").rglob("*")) == before


def test_corrupt_entries_of_a_shared_directory_are_misses(tmp_path: Path) -> None:
    store_in(tmp_path / "shared").publish(key_of(1), entry_of(1))
    files_of(tmp_path / "shared", "cas")[0].write_bytes(b"x")
    store = store_in(tmp_path / "s", shared=str(tmp_path / "shared"))
    with events() as seen:
        assert store.find(key_of(1)) is None
    assert kinds(seen) == ["discard", "miss"]
    assert files_of(tmp_path / "shared", "ac")


def test_directories_that_anyone_can_write_are_refused_with_one_warning(tmp_path: Path) -> None:
    store_in(tmp_path / "shared").publish(key_of(1), entry_of(1))
    (tmp_path / "shared").chmod(0o777)
    store = store_in(tmp_path / "s", shared=str(tmp_path / "shared"))
    with pytest.warns(StoreWarning, match="other users can write") as caught:
        found = [store.find(key_of(1)) for _ in range(3)]
    assert found == [None] * 3
    assert len(caught) == 1


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
def test_directory_that_is_not_private_is_refused_with_one_warning(tmp_path: Path, mode: int) -> None:
    store = store_in(tmp_path / "s")
    store.publish(key_of(1), entry_of(1))
    (tmp_path / "s").chmod(mode)
    with pytest.warns(StoreWarning, match="chmod 700") as caught:
        found = [store.find(key_of(1)) for _ in range(3)]
    assert found == [None] * 3
    assert len(caught) == 1
    store.publish(key_of(2), entry_of(2))
    assert len(files_of(tmp_path / "s", "ac")) == 1
    with store.flight(key_of(1)):
        assert not (tmp_path / "s" / "claims").exists()


def test_directory_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_in(tmp_path / "s")
    store.publish(key_of(1), entry_of(1))
    stranger = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: stranger)
    with pytest.warns(StoreWarning, match="belongs to user"):
        assert store.find(key_of(1)) is None


def test_a_file_in_the_place_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("")
    store = store_in(tmp_path / "s")
    with pytest.warns(StoreWarning, match="not a directory"):
        assert store.find(key_of(1)) is None
    store.publish(key_of(1), entry_of(1))
    with store.flight(key_of(1)):
        pass


def test_links_and_pipes_are_no_entries(tmp_path: Path) -> None:
    store = store_in(tmp_path / "s")
    store.publish(key_of(1), entry_of(1))
    path = files_of(tmp_path / "s", "ac")[0]
    other = tmp_path / "elsewhere.json"
    path.rename(other)
    path.symlink_to(other)
    assert store.find(key_of(1)) is None
    os.mkfifo(path)
    assert store.find(key_of(1)) is None
    store.publish(key_of(1), entry_of(1))
    assert store.find(key_of(1)) == entry_of(1)


def test_each_cause_warns_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_in(tmp_path / "s")
    causes = iter([errno.ENOSPC, errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EROFS])

    def fail(self: Directory, part: str, name: str, data: bytes) -> None:
        code = next(causes)
        raise OSError(code, os.strerror(code), name)

    monkeypatch.setattr(Directory, "write", fail)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number in range(5):
            store.publish(key_of(number), entry_of(number))
    texts = [str(one.message) for one in caught]
    assert len(texts) == 3
    assert [name in text for name, text in zip(["No space", "Read-only", "quota"], texts, strict=True)] == [True] * 3


def test_hook_that_raises_changes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = store_in(tmp_path / "s")

    def broken(event: object) -> None:
        raise ArithmeticError("mine")

    remove = events_module.add_hook(broken)
    try:
        store.publish(key_of(1), entry_of(1))
    finally:
        remove()
    assert store.find(key_of(1)) == entry_of(1)
    assert "ArithmeticError: mine" in caplog.text


def test_events_are_log_lines(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = store_in(tmp_path / "s")
    with caplog.at_level("INFO", logger="triptych.cache"):
        store.publish(key_of(1), entry_of(1))
        store.find(key_of(1))
    assert [record.levelname for record in caplog.records] == ["INFO", "INFO"]
    assert key_of(1)[:16] in caplog.text


def test_store_of_the_settings(tmp_path: Path) -> None:
    with override(cache=False):
        assert default_store() is None
    with override(cache=True, cache_dir=str(tmp_path / "a"), cache_budget=3, cache_wait=0.5):
        store = default_store()
        assert store is not None
        assert store is default_store()
        assert (store.budget, store.patience) == (3 << 20, 0.5)
        store.publish(key_of(1), entry_of(1))
    assert files_of(tmp_path / "a", "ac")


@pytest.mark.parametrize(
    ("environment", "switch", "folder"),
    [
        ({}, True, ""),
        ({"TRIPTYCH_CACHE": "0"}, False, ""),
        ({"CUTE_DSL_DISABLE_FILE_CACHING": "1"}, False, ""),
        ({"CUTE_DSL_DISABLE_FILE_CACHING": "0"}, True, ""),
        ({"XDG_CACHE_HOME": "/x"}, True, "/x/triptych"),
        ({"XDG_CACHE_HOME": "x"}, True, ""),
        ({"XDG_CACHE_HOME": "/x", "CUTE_DSL_CACHE_DIR": "/y"}, True, "/y/triptych"),
        ({"XDG_CACHE_HOME": "/x", "TRIPTYCH_CACHE_DIR": "/z"}, True, "/z"),
    ],
)
def test_where_the_environment_puts_it(environment: dict[str, str], switch: bool, folder: str) -> None:
    settings = read(environment)
    assert (settings.cache, settings.cache_dir) == (switch, folder)
