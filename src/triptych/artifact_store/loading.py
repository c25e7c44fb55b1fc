"""Lookup in a tier: the record by its key, then every artifact by its digest, nothing unverified."""

from __future__ import annotations

from typing import Protocol

from triptych.artifact_store.directory import Part
from triptych.artifact_store.entry import Entry
from triptych.artifact_store.record import LARGEST_RECORD, Evicted, Signer, check_artifact, read_record


class Source(Protocol):
    """What an entry is read from. An `OSError` says that it cannot be asked now.

    Of a part that has more than `limit` bytes, not much more is read: it is no entry, whatever is given of it.
    """

    def read(self, part: Part, name: str, limit: int) -> bytes | None: ...


def load(source: Source, key: str, signer: Signer | None) -> tuple[Entry, bytes] | None:
    """The entry and its record as it was written, or None. Raises `NotAnEntry` for anything but a whole entry."""
    written = source.read("ac", key, LARGEST_RECORD)
    if written is None:
        return None
    record = read_record(written, key, signer)
    artifacts: dict[str, bytes] = {}
    for name, expected in record.artifacts.items():
        content = source.read("cas", expected.digest, expected.size) if expected.size else b""
        if content is None:
            raise Evicted("an artifact has been evicted")
        artifacts[name] = check_artifact(content, expected)
    return Entry(record.facts, artifacts), written
