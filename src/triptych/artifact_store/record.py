"""Entry of the store, and its record as bytes: canonical JSON that names artifacts by digest, with a digest of itself.

    {"digest": sha256 of the record, "record": {"artifacts": …, "facts": …, "format": 1, "key": …}, "signature": …}

There is one way to write a record, and only bytes that are written that way are read. So an entry whose bytes have
changed in any place is not an entry; one that lies under another key is none either.

Digest and signature are verified over bytes, before anything is parsed. What is parsed has a bounded size, depth and
length of numbers, since without a key a digest that fits says nothing about who wrote a record.
"""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Mapping
from hashlib import sha256
from itertools import accumulate
from typing import Any, Protocol, TypeAlias

from triptych.support.dataclass import dataclass
from triptych.support.forking import import_late

JSON: TypeAlias = "bool | int | float | str | list[JSON] | tuple[JSON, ...] | Mapping[str, JSON] | None"


@dataclass(frozen=True, slots=True)
class Entry:
    """One compiled program, as data."""

    facts: Mapping[str, JSON]
    """Small: function, target, ingredients of the key, how to call it. Tuples come back as lists."""
    artifacts: Mapping[str, bytes]
    """By name, as `object`, `ptx`, `cubin`, `mlir`; each as the tool that made it wrote it."""


@dataclass(frozen=True, slots=True)
class Listed:
    """An entry as a listing shows it."""

    key: str
    facts: Mapping[str, JSON]
    artifacts: Mapping[str, int]
    """Their sizes in bytes, by name."""
    bytes: int
    """Of the record and its artifacts; an artifact that two entries share counts for both."""
    used: float
    """Seconds since the epoch, within a minute."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What `Store.verify` and `Store.import_` saw."""

    good: int
    discarded: tuple[str, ...]
    """What was not as it should be: `ac/KEY` or `cas/DIGEST`."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """What `Store.prune` removed, and what is left."""

    files: int
    freed: int
    left: int


FORMAT = 1
LARGEST_RECORD = 4 << 20
LARGEST_ARTIFACT = 256 << 20
"""Bytes that are kept and read at most, whatever somebody put there."""
_DEEPEST = 200
"""Levels of a record."""
_LONGEST_NUMBER = 4300
"""Digits of an integer: Python's own limit, which programs may lift."""
_BEGIN = re.compile(rb'\{"digest":"([0-9a-f]{64})","record":')
_SIGNATURE = re.compile(rb',"signature":"([0-9a-z:-]{1,400})"\}\Z')
"""A record itself ends in `"}}`, so the end of none could be taken for a signature."""
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = [1 if byte in b"[{" else -1 for byte in range(256)]


class NotAnEntry(Exception):
    """What was read is no entry of this store, or not the one that was asked for. It never leaves the store."""

    def __init__(self, reason: str, artifact: str = "") -> None:
        super().__init__(reason)
        self.artifact = artifact
        """The digest of the artifact that is not what it should be."""


class Evicted(NotAnEntry):
    """An artifact has left before its record."""


class CannotSign(Exception):
    """Records must be signed, and the key is a public one. It never leaves the store."""


class Signer(Protocol):
    """Who vouches for records."""

    def sign(self, record: bytes) -> str:
        """The signature as text. Raises `CannotSign` where this side can only verify."""

    def verify(self, record: bytes, signature: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class Artifact:
    """An artifact by what its content must be."""

    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class Record:
    """A record that has been verified."""

    key: str
    facts: Mapping[str, JSON]
    artifacts: Mapping[str, Artifact]


def digest_of(data: bytes) -> str:
    """The name of an artifact."""
    return sha256(data).hexdigest()


def write_record(key: str, facts: Mapping[str, JSON], artifacts: Mapping[str, bytes], signer: Signer | None) -> bytes:
    """The bytes of a record, signed if records are. Raises `NotAnEntry` for what could not be read again."""
    for name, data in artifacts.items():
        if len(data) > LARGEST_ARTIFACT:
            raise NotAnEntry(f"{name} has {len(data)} bytes, at most {LARGEST_ARTIFACT} are read")
    listed = {name: {"sha256": digest_of(data), "size": len(data)} for name, data in artifacts.items()}
    record = {"artifacts": listed, "facts": facts, "format": FORMAT, "key": key}
    text = _canonical(record)
    envelope: dict[str, Any] = {"digest": digest_of(text), "record": record}
    if signer is not None:
        envelope["signature"] = signer.sign(text)
    written = _canonical(envelope)
    _check_bounds(written)
    return written


def read_record(data: bytes, key: str, signer: Signer | None) -> Record:
    """The record of `key`, if the bytes are exactly one; signed, if there is a signer. Else `NotAnEntry`."""
    begin, end = _BEGIN.match(data), _SIGNATURE.search(data, len(data) - 500)
    if begin is None:
        raise NotAnEntry("not written as records are")
    text, signature = data[begin.end() : end.start() if end else -1], end[1].decode() if end else ""
    if begin[1].decode() != digest_of(text) or (end is None and not data.endswith(b"}")):
        raise NotAnEntry("the record is not what its digest says")
    if signer is not None and not signature:
        raise NotAnEntry("not signed")
    if signer is not None and not signer.verify(text, signature):
        raise NotAnEntry("the signature is not ours")
    _check_bounds(data)
    try:
        record = _DECODER.decode(text.decode("ascii"))
        written = _canonical(record)
    except (ValueError, RecursionError) as error:
        raise NotAnEntry(f"no record: {type(error).__name__}") from error
    if written != text:
        raise NotAnEntry("not written as records are")
    return _checked(record, key)


def _check_bounds(data: bytes) -> None:
    if len(data) > LARGEST_RECORD:
        raise NotAnEntry(f"a record of {len(data)} bytes, at most {LARGEST_RECORD} are read")
    outside_of_strings = b"".join(data.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')[::2])
    brackets = outside_of_strings.translate(None, _NO_BRACKETS)
    if max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > _DEEPEST:
        raise NotAnEntry(f"a record of more than {_DEEPEST} levels")


def _integer(digits: str) -> int:
    if len(digits) > _LONGEST_NUMBER:
        raise ValueError(f"an integer of {len(digits)} digits")
    return int(digits)


_DECODER = json.JSONDecoder(parse_int=_integer)


def _checked(record: Any, key: str) -> Record:
    """A record with the right parts. A digest that fits says nothing about who wrote it."""
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise NotAnEntry("of another format")
    if record.get("key") != key:
        raise NotAnEntry("the record of another key")
    facts, artifacts = record.get("facts"), record.get("artifacts")
    if record.keys() != {"artifacts", "facts", "format", "key"} or not isinstance(facts, dict):
        raise NotAnEntry("other parts than a record has")
    if not isinstance(artifacts, dict):
        raise NotAnEntry("no artifacts")
    return Record(key, facts, {name: _artifact(listed) for name, listed in artifacts.items()})


def _artifact(listed: Any) -> Artifact:
    if not isinstance(listed, dict) or listed.keys() != {"sha256", "size"}:
        raise NotAnEntry("an artifact without digest and size")
    digest, size = listed["sha256"], listed["size"]
    if not isinstance(digest, str) or not is_digest(digest) or type(size) is not int:
        raise NotAnEntry("an artifact without digest and size")
    if not 0 <= size <= LARGEST_ARTIFACT:
        raise NotAnEntry(f"an artifact of {size} bytes")
    return Artifact(digest, size)


def check_artifact(data: bytes, expected: Artifact) -> bytes:
    """The content itself, if it is what the record says."""
    if len(data) != expected.size or digest_of(data) != expected.digest:
        raise NotAnEntry("an artifact is not what its digest says", expected.digest)
    return data


def is_digest(text: str) -> bool:
    """Whether a text is a SHA-256 as we write it, and so can be the name of a file."""
    return len(text) == 64 and not text.strip("0123456789abcdef")


def _canonical(value: JSON | dict[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


_DOMAIN = b"triptych store record\n"
"""Signed with every record, so that no signature made for something else is one for a record."""
_SHORTEST = 16
"""Bytes of a shared key."""


class SharedKey:
    """HMAC-SHA256."""

    def __init__(self, key: bytes) -> None:
        if len(key) < _SHORTEST:
            raise ValueError(f"a shared key has at least {_SHORTEST} bytes, this one has {len(key)}")
        self._key = key

    def sign(self, record: bytes) -> str:
        return "hmac-sha256:" + hmac.digest(self._key, _DOMAIN + record, "sha256").hex()

    def verify(self, record: bytes, signature: str) -> bool:
        return hmac.compare_digest(self.sign(record).encode(), signature.encode(errors="replace"))


class KeyPair:
    """Ed25519, by the package cryptography."""

    def __init__(self, private: Any, public: Any) -> None:
        self._private = private
        self._public = public
        self._wrong = import_late("cryptography.exceptions").InvalidSignature

    def sign(self, record: bytes) -> str:
        if self._private is None:
            raise CannotSign
        return "ed25519:" + str(self._private.sign(_DOMAIN + record).hex())

    def verify(self, record: bytes, signature: str) -> bool:
        kind, _, text = signature.partition(":")
        try:
            self._public.verify(bytes.fromhex(text), _DOMAIN + record)
        except (ValueError, self._wrong):
            return False
        return kind == "ed25519"


def read_signer(path: str) -> Signer:
    """The signer of a key file: PEM of an Ed25519 key, private or public, else the bytes that are shared.

    Raises OSError, ValueError or ImportError: a store whose key cannot be had must not be used without it.
    """
    with open(path, "rb") as file:
        content = file.read().strip()
    if not content.startswith(b"-----BEGIN"):
        return SharedKey(content)
    serialization = import_late("cryptography.hazmat.primitives.serialization")
    kinds = import_late("cryptography.hazmat.primitives.asymmetric.ed25519")
    if b"PRIVATE KEY" in content:
        private = serialization.load_pem_private_key(content, password=None)
        if isinstance(private, kinds.Ed25519PrivateKey):
            return KeyPair(private, private.public_key())
    else:
        public = serialization.load_pem_public_key(content)
        if isinstance(public, kinds.Ed25519PublicKey):
            return KeyPair(None, public)
    raise ValueError("a key of another kind than Ed25519")
