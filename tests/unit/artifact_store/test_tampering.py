"""Whatever is done to the bytes of an entry: it is found as it was published, or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice, product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.hostile_records import SIGNER, hostile, is_loaded
from tests.support.stores import entry_of, files_of, key_of, store_in
from triptych.artifact_store import events as events_module
from triptych.artifact_store.directory import Part, load
from triptych.artifact_store.events import StoreWarning
from triptych.artifact_store.record import NotAnEntry, digest_of, read_record, write_record

pytestmark = pytest.mark.filterwarnings("ignore:.* that is no entry:triptych.artifact_store.events.StoreWarning")


class Memory:
    """A tier that is a dictionary."""

    def __init__(self, number: int) -> None:
        entry = entry_of(number)
        self.content = {"ac/" + key_of(number): write_record(key_of(number), entry.facts, entry.artifacts, None)}
        self.content |= {"cas/" + digest_of(data): data for data in entry.artifacts.values()}

    def read(self, part: Part, name: str, limit: int) -> bytes | None:
        return self.content.get(f"{part}/{name}")


def loaded(source: Memory, name: str, changes: Iterator[bytes]) -> tuple[int, int]:
    """How many changed contents were tried, and how many of them were loaded."""
    tried, count, good = 0, 0, source.content[name]
    for changed in changes:
        source.content[name] = changed
        tried += 1
        try:
            count += load(source, key_of(1), None) is not None
        except NotAnEntry:
            continue
    source.content[name] = good
    assert load(source, key_of(1), None) == (entry_of(1), source.content["ac/" + key_of(1)])
    return tried, count


def flips(content: bytes, masks: Iterable[int]) -> Iterator[bytes]:
    for place, mask in product(range(len(content)), masks):
        yield content[:place] + bytes([content[place] ^ mask]) + content[place + 1 :]


def test_every_bit_flipped_in_turn() -> None:
    source = Memory(1)
    for name, content in list(source.content.items()):
        masks = [1 << bit for bit in range(8)] + [0xFF]
        assert loaded(source, name, flips(content, masks)) == (9 * len(content), 0)


def test_truncated_and_lengthened() -> None:
    source = Memory(1)
    for name, content in list(source.content.items()):
        cuts = (content[:length] for length in range(len(content)))
        assert loaded(source, name, cuts) == (len(content), 0)
        more = iter([content + b" ", content + b"\0", b" " + content, content + content, content + b"\n"])
        assert loaded(source, name, more) == (5, 0)


def test_bytes_of_the_files_flipped_in_turn(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The same through the file system, where what is wrong is removed and published again."""
    caplog.set_level("CRITICAL", "triptych.cache")
    store = store_in(tmp_path / "s")
    store.publish(key_of(1), entry_of(1))
    for path in files_of(tmp_path / "s", "ac") + files_of(tmp_path / "s", "cas"):
        for changed in islice(flips(path.read_bytes(), [0x55]), 0, None, 4):
            path.write_bytes(changed)
            assert store.find(key_of(1)) is None
            assert store.find(key_of(1)) is None
            store.publish(key_of(1), entry_of(1))
    assert store.find(key_of(1)) == entry_of(1)


def test_entries_that_changed_places(tmp_path: Path) -> None:
    store = store_in(tmp_path / "s")
    for number in range(2):
        store.publish(key_of(number), entry_of(number))
    for part in ("ac", "cas"):
        files = files_of(tmp_path / "s", part)
        first, second = files[0].read_bytes(), files[1].read_bytes()
        files[0].write_bytes(second)
        files[1].write_bytes(first)
    for number in range(2):
        assert store.find(key_of(number)) in (None, entry_of(number))
    assert store.find(key_of(0)) is None


def test_a_digest_that_fits_does_not_make_a_record(tmp_path: Path) -> None:
    """Forged without care: other keys, other formats, other parts, names that would leave the directory."""
    artifact = {"sha256": digest_of(b""), "size": 0}
    good: dict[str, Any] = {"artifacts": {"object": artifact}, "facts": {}, "format": 1, "key": key_of(1)}
    assert read_record(sealed(good), key_of(1), None).facts == {}
    forged: list[Any] = [
        {**good, "key": key_of(2)},
        {**good, "format": 2},
        {**good, "format": "1"},
        {**good, "more": 1},
        {**good, "facts": []},
        {**good, "artifacts": []},
        {**good, "artifacts": {"object": {**artifact, "sha256": "../" * 21 + "x"}}},
        {**good, "artifacts": {"object": {**artifact, "sha256": 7}}},
        {**good, "artifacts": {"object": {**artifact, "size": -1}}},
        {**good, "artifacts": {"object": {**artifact, "size": 1 << 40}}},
        {**good, "artifacts": {"object": {**artifact, "size": True}}},
        {**good, "artifacts": {"object": "x"}},
        [],
        None,
        7,
    ]
    for record in forged:
        with pytest.raises(NotAnEntry):
            read_record(sealed(record), key_of(1), None)


def sealed(record: Any) -> bytes:
    def write(value: Any) -> bytes:
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()

    return write({"digest": digest_of(write(record)), "record": record})


@given(st.binary(max_size=200))
def test_noise_is_no_record(noise: bytes) -> None:
    with pytest.raises(NotAnEntry):
        read_record(noise, key_of(1), None)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"record":' * 50_000, "9" * 10_000, '{"record":1e999}', '{"record":{},"record":{}}', "[]", '""'],
)
def test_hostile_json_is_no_record(text: str) -> None:
    with pytest.raises(NotAnEntry):
        read_record(text.encode(), key_of(1), None)


def test_hostile_records_are_misses_without_a_word_of_python() -> None:
    """`benchmarks.hostile_records` tries 100,000."""
    random = Random(25)
    for _ in range(2_000):
        record = hostile(random)
        assert not is_loaded(record, SIGNER)
        assert not is_loaded(record, None) or record.digest_fits


@pytest.mark.filterwarnings("default::triptych.artifact_store.events.StoreWarning")
def test_hostile_records_of_a_directory_warn_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events_module, "_WARNED", set())
    store_in(tmp_path / "shared", signer=SIGNER).publish(key_of(1), entry_of(1))
    (path,) = files_of(tmp_path / "shared", "ac")
    good, random = path.read_bytes(), Random(7)
    store = store_in(tmp_path / "s", shared=str(tmp_path / "shared"), signer=SIGNER)
    records = [hostile(random).data for _ in range(100)] + [good.replace(b"hmac-sha256:", b"\\ud800")]

    def look_up_all() -> None:
        for record in records:
            path.write_bytes(record)
            assert store.find(key_of(1)) is None

    with pytest.warns(StoreWarning, match="the shared store has something that is no entry") as caught:
        look_up_all()
    assert len(caught) == 1
    path.write_bytes(good)
    assert store.find(key_of(1)) == entry_of(1)


FACTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), FACTS, max_size=4), st.dictionaries(st.text(), st.binary(), max_size=3))
def test_every_record_reads_back(facts: dict[str, Any], artifacts: dict[str, bytes]) -> None:
    record = read_record(write_record(key_of(1), facts, artifacts, None), key_of(1), None)
    assert record.facts == facts
    assert {name: one.digest for name, one in record.artifacts.items()} == {
        name: digest_of(data) for name, data in artifacts.items()
    }
