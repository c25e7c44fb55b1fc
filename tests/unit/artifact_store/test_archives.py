"""Entries as one file: what goes out comes in, and nothing else does."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from tests.support.stores import entry_of, key_of, store_in
from triptych.artifact_store.archives import ArchiveError
from triptych.artifact_store.record import Entry, SharedKey

pytestmark = pytest.mark.filterwarnings("ignore:.* that is no entry:triptych.artifact_store.events.StoreWarning")


def test_what_goes_out_comes_in(tmp_path: Path) -> None:
    store = store_in(tmp_path / "a")
    for number in range(5):
        store.publish(key_of(number), entry_of(number))
    assert store.export(str(tmp_path / "all.tar")) == 5
    assert store.export(str(tmp_path / "two.tar"), [key_of(1), key_of(2), key_of(99)]) == 2
    other = store_in(tmp_path / "b")
    assert (other.import_(str(tmp_path / "two.tar")).good, len(list(other.entries()))) == (2, 2)
    checked = other.import_(str(tmp_path / "all.tar"))
    assert (checked.good, checked.discarded) == (5, ())
    assert [other.find(key_of(number)) for number in range(5)] == [entry_of(number) for number in range(5)]


def test_same_entries_make_the_same_bytes(tmp_path: Path) -> None:
    for name in "ab":
        store = store_in(tmp_path / name)
        for number in range(3):
            store.publish(key_of(number), entry_of(number))
        store.export(str(tmp_path / f"{name}.tar"))
    assert (tmp_path / "a.tar").read_bytes() == (tmp_path / "b.tar").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "a.tar", "b", "b.tar"]


def test_every_byte_flipped_brings_in_nothing_wrong(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL", "triptych.cache")
    store_in(tmp_path / "a").publish(key_of(1), Entry({}, {"object": b"12345678"}))
    store_in(tmp_path / "a").export(str(tmp_path / "good.tar"))
    content = (tmp_path / "good.tar").read_bytes()
    for place in range(0, len(content), 41):
        (tmp_path / "bad.tar").write_bytes(content[:place] + bytes([content[place] ^ 0x11]) + content[place + 1 :])
        other = store_in(tmp_path / "b")
        try:
            other.import_(str(tmp_path / "bad.tar"))
        except ArchiveError:
            continue
        assert other.find(key_of(1)) in (None, Entry({}, {"object": b"12345678"}))
        other.prune(0)


def test_names_that_lead_elsewhere_are_only_names(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "evil.tar", "w") as archive:
        for name in ("../out", "/out", "ac/../../out", "cas/../../../out", f"ac/aa/{key_of(1)}.json", "tmp/x"):
            member = tarfile.TarInfo(name)
            member.size = 4
            archive.addfile(member, io.BytesIO(b"evil"))
        link = tarfile.TarInfo("cas/aa/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/"
        archive.addfile(link)
    (tmp_path / "in").mkdir(mode=0o700)
    store = store_in(tmp_path / "in" / "s")
    checked = store.import_(str(tmp_path / "evil.tar"))
    assert checked.good == 0
    assert len(checked.discarded) == 3
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / "evil.tar"]


def test_bad_record_does_not_replace_a_good_one(tmp_path: Path) -> None:
    store_in(tmp_path / "a", signer=SharedKey(b"a" * 16)).publish(key_of(1), entry_of(2))
    store_in(tmp_path / "a", signer=SharedKey(b"a" * 16)).export(str(tmp_path / "x.tar"))
    store = store_in(tmp_path / "b", signer=SharedKey(b"b" * 16))
    store.publish(key_of(1), entry_of(1))
    assert store.import_(str(tmp_path / "x.tar")).good == 0
    assert store.find(key_of(1)) == entry_of(1)


def test_archive_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        store_in(tmp_path / "b").import_(str(tmp_path / "none.tar"))


def test_archive_that_is_cut_off(tmp_path: Path) -> None:
    """Wherever: also between two entries, where nothing but the end is missing."""
    store = store_in(tmp_path / "a")
    for number in range(3):
        store.publish(key_of(number), entry_of(number))
    store.export(str(tmp_path / "good.tar"))
    content = (tmp_path / "good.tar").read_bytes()
    used = -(-len(content.rstrip(b"\0")) // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE
    for pack in (bytes, gzip.compress):
        for length in (*range(0, used, 211), *range(0, used + 1, tarfile.BLOCKSIZE)):
            (tmp_path / "cut.tar").write_bytes(pack(content[:length]))
            with pytest.raises(ArchiveError, match="or not a whole one"):
                store_in(tmp_path / "b").import_(str(tmp_path / "cut.tar"))
    packed = gzip.compress(content)
    for length in range(0, len(packed) - 40, 29):
        (tmp_path / "cut.tar").write_bytes(packed[:length])
        with pytest.raises(ArchiveError):
            store_in(tmp_path / "b").import_(str(tmp_path / "cut.tar"))


def test_file_of_somebody_else(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "source.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("setup.py"))
    (tmp_path / "note.tar").write_text("hi")
    (tmp_path / "image.tar").write_bytes(b"\x89PNG\r\n" + bytes(range(256)) * 40)
    for name in ("source", "note", "image"):
        with pytest.raises(ArchiveError, match=f"{name}.tar"):
            store_in(tmp_path / "b").import_(str(tmp_path / f"{name}.tar"))
