"""Signed records: what is unsigned, forged or signed by another key is not there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.stores import entry_of, events, files_of, key_of, kinds, store_in
from triptych.artifact_store import events as events_module
from triptych.artifact_store.configured import default_store
from triptych.artifact_store.events import StoreWarning
from triptych.artifact_store.record import Entry, SharedKey, Signer, read_signer
from triptych.support.config import override

KEY, OTHER = b"k" * 32, b"l" * 32

pytestmark = pytest.mark.filterwarnings("ignore:.* that is no entry:triptych.artifact_store.events.StoreWarning")


@pytest.fixture(autouse=True)
def no_warning_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events_module, "_WARNED", set())


def pair() -> tuple[bytes, bytes]:
    """A private and a public key as PEM."""
    kinds: Any = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    forms: Any = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    private = kinds.Ed25519PrivateKey.generate()
    secret = private.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption())
    public = private.public_key().public_bytes(forms.Encoding.PEM, forms.PublicFormat.SubjectPublicKeyInfo)
    return secret, public


def signer(folder: Path, name: str, content: bytes) -> Signer:
    (folder / name).write_bytes(content)
    return read_signer(str(folder / name))


def refuses_all_but_its_own(tmp_path: Path, mine: Signer, other: Signer) -> None:
    """An entry that is signed by `mine` is found by it; by others, or by nobody, it is a miss."""
    for number, author in enumerate([mine, other, None]):
        folder = tmp_path / f"s{number}"
        store_in(folder, signer=author).publish(key_of(1), entry_of(1))
        found = store_in(folder, signer=mine).find(key_of(1))
        assert found == (entry_of(1) if author is mine else None)


def test_shared_key(tmp_path: Path) -> None:
    refuses_all_but_its_own(tmp_path, SharedKey(KEY), SharedKey(OTHER))


def test_key_pairs(tmp_path: Path) -> None:
    mine, other = signer(tmp_path, "a", pair()[0]), signer(tmp_path, "b", pair()[0])
    refuses_all_but_its_own(tmp_path, mine, other)
    refuses_all_but_its_own(tmp_path / "x", mine, SharedKey(KEY))


def test_public_key_reads_and_keeps_nothing_of_its_own(tmp_path: Path) -> None:
    secret, public = pair()
    store_in(tmp_path / "built", signer=signer(tmp_path, "a", secret)).publish(key_of(1), entry_of(1))
    store = store_in(tmp_path / "s", shared=str(tmp_path / "built"), signer=signer(tmp_path, "b", public))
    assert store.find(key_of(1)) == entry_of(1)
    assert store.find(key_of(1)) == entry_of(1)
    with pytest.warns(StoreWarning, match="public key only"):
        store.publish(key_of(2), entry_of(2))
    assert store.find(key_of(2)) is None


def test_every_byte_of_a_signed_record_flipped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL", "triptych.cache")
    store = store_in(tmp_path / "s", signer=SharedKey(KEY))
    store.publish(key_of(1), Entry({}, {}))
    path = files_of(tmp_path / "s", "ac")[0]
    content = path.read_bytes()
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert store.find(key_of(1)) is None
    path.write_bytes(content)
    assert store.find(key_of(1)) == Entry({}, {})


def test_signature_of_another_record_does_not_fit(tmp_path: Path) -> None:
    store = store_in(tmp_path / "s", signer=SharedKey(KEY))
    store.publish(key_of(1), entry_of(1))
    store_in(tmp_path / "forged").publish(key_of(1), entry_of(2))
    signed, forged = files_of(tmp_path / "s", "ac")[0], files_of(tmp_path / "forged", "ac")[0]
    signature = signed.read_bytes().rpartition(b',"signature":')[2]
    signed.write_bytes(forged.read_bytes()[:-1] + b',"signature":' + signature)
    with events() as seen:
        assert store.find(key_of(1)) is None
    assert kinds(seen) == ["discard", "miss"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "No such file"),
        (b"short", "at least 16 bytes"),
        (b"-----BEGIN PRIVATE KEY-----\nnothing\n-----END PRIVATE KEY-----", ""),
    ],
)
def test_without_its_key_there_is_no_store(tmp_path: Path, content: bytes | None, expected: str) -> None:
    """The other way round, whoever can hide the key could have anything loaded."""
    if content is not None:
        (tmp_path / "key").write_bytes(content)
    with override(cache=True, cache_dir=str(tmp_path / "s"), cache_key_file=str(tmp_path / "key")):
        with pytest.warns(StoreWarning, match=f"is off: .*{expected}"):
            assert default_store() is None
        assert default_store() is None


def test_key_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(KEY + b"\n")
    with override(cache=True, cache_dir=str(tmp_path / "s"), cache_key_file=str(tmp_path / "key")):
        store = default_store()
        assert store is not None
        store.publish(key_of(1), entry_of(1))
    assert store_in(tmp_path / "s", signer=SharedKey(KEY)).find(key_of(1)) == entry_of(1)
    assert store_in(tmp_path / "s", signer=SharedKey(OTHER)).find(key_of(1)) is None


def test_world_writable_directory_is_used_where_records_are_signed(tmp_path: Path) -> None:
    store_in(tmp_path / "shared", signer=SharedKey(KEY)).publish(key_of(1), entry_of(1))
    (tmp_path / "shared").chmod(0o777)
    store = store_in(tmp_path / "s", shared=str(tmp_path / "shared"), signer=SharedKey(KEY))
    assert store.find(key_of(1)) == entry_of(1)
