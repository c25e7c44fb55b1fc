"""The store: look up, publish, single flight, and what the command line asks of it.

Look-ups go from the local directory to a shared one to a remote one; what a later tier has is kept in the local one.
Nothing here raises because a disk is full, a directory closed or a server gone: there is a warning, once, and the
program is compiled, as it would be without a store.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, TypeVar

from triptych.artifact_store.directory import Directory, Part, Refused, StoredFile, load
from triptych.artifact_store.events import discard, report, warn_once
from triptych.artifact_store.leases import flight, remove_abandoned
from triptych.artifact_store.record import (
    LARGEST_ARTIFACT,
    LARGEST_RECORD,
    CannotSign,
    Checked,
    Entry,
    Evicted,
    Listed,
    NotAnEntry,
    Pruned,
    Signer,
    digest_of,
    is_digest,
    read_record,
    write_record,
)
from triptych.support.forking import import_late

if TYPE_CHECKING:
    from triptych.artifact_store.remote import Remote

# Keeping a directory within its budget: what was not used for the longest leaves first.
# Every file counts alone, records and artifacts alike: an entry that has lost an artifact is a miss, and dropped when
# it is asked for. So nothing has to count who refers to what, and any number of processes may evict at once. The
# files of an entry are used together, so they leave together, but for the last one that leaves.
# How much has been written is the length of a file, `ledger`, to which every writer appends one byte per KiB. When
# that is a sixteenth of the budget, the directory is looked through, once, by whoever comes first.

_KIB = 1024
_SHARE = 16
_FUTURE = 60.0
"""Seconds that a time may lie ahead, as clocks of two machines differ, before it is taken for wrong."""


def account(directory: Directory, written: int, budget: int) -> None:
    """Note what was written, and evict when enough has been."""
    path = os.path.join(directory.root, "ledger")
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        os.write(descriptor, b"." * -(-written // _KIB))
        if os.fstat(descriptor).st_size * _KIB <= budget // _SHARE:
            return
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)
    evict(directory, budget - budget // _SHARE)


def evict(directory: Directory, limit: int) -> Pruned:
    """Remove files until at most `limit` bytes are left."""
    directory.remove_leftovers()
    now = time.time()
    files = sorted((_age_order(file, now), file.path, file) for file in directory.files())
    left = sum(file.size for _, _, file in files)
    removed = freed = 0
    for _, _, file in files:
        if left <= limit:
            break
        with suppress(FileNotFoundError):  # another process evicts as well
            os.unlink(file.path)
            removed, freed = removed + 1, freed + file.size
            report("evict", file.name, detail=f"{file.part}, {file.size} bytes")
        left -= file.size
    return Pruned(removed, freed, left)


def _age_order(file: StoredFile, now: float) -> float:
    """When a file was used, for sorting. One from the future is used now, and ages from now on."""
    used = file.used
    if used > now + _FUTURE:
        with suppress(OSError):
            os.utime(file.path)
        used = now
    return used


T = TypeVar("T")


class Store:
    """Entries by key. Any number of threads and processes may use one directory; forks may happen at any time."""

    def __init__(
        self,
        directory: str,
        *,
        budget: int = 4 << 30,
        patience: float = 60.0,
        shared: str = "",
        remote: Remote | None = None,
        signer: Signer | None = None,
    ) -> None:
        self.directory = directory
        self.budget = budget
        """Bytes that the local directory may have."""
        self.patience = patience
        """Seconds to wait for somebody else who makes the same entry."""
        self._signer = signer
        self._local = Directory(directory, private=True, marks=True)
        self._inspected = Directory(directory, private=True)
        """The same, for those who look at everything and use nothing."""
        self._shared = Directory(shared, private=False, trusts_anyone=signer is not None) if shared else None
        self._remote = remote

    def __repr__(self) -> str:
        return f"Store({self.directory!r})"

    @property
    def root(self) -> str:
        """The local directory."""
        return self._local.root

    def find(self, key: str) -> Entry | None:
        """The entry of a key from the first tier that has it, verified to the last byte; None: make it."""
        return self._find(key)[1]

    def _find(self, key: str) -> tuple[str, Entry | None]:
        """The tier, and the entry."""
        _check_key(key)
        tier, found = "local", self._ask("local", self._local, key)
        if found is None and self._shared is not None:
            tier, found = "shared", self._ask("shared", self._shared, key)
        if found is None and self._remote is not None:
            tier, found = self._remote.name, self._remote.find(key)
        if found is None:
            report("miss", key)
            return tier, None
        report("hit", key, tier)
        entry, written = found
        if tier != "local":
            self._keep(key, written, entry.artifacts)
        return tier, entry

    def has(self, key: str) -> bool:
        """Whether the local or the shared directory has a record of a key; whether it is good, `find` tells."""
        _check_key(key)
        directories = [self._local, *([self._shared] if self._shared is not None else [])]
        return any(os.path.exists(directory.path("ac", key)) for directory in directories)

    def publish(self, key: str, entry: Entry) -> None:
        """Keep an entry, for this user's other processes at once. A store that cannot be written to warns, once."""
        _check_key(key)
        try:
            written = write_record(key, entry.facts, entry.artifacts, self._signer)
        except CannotSign:
            text = "what is compiled here is not kept: records must be signed, and the key file has a public key only"
            warn_once(text, text)
            return
        except NotAnEntry as error:
            report("trouble", key, detail=f"not kept: {error}")
            return
        if self._keep(key, written, entry.artifacts):
            report("publish", key, detail=f"{sum(map(len, entry.artifacts.values()))} bytes")
        if self._remote is not None:
            self._remote.publish(key, written, entry.artifacts)

    def find_or_make(self, key: str, read: Callable[[Entry], T], make: Callable[[], tuple[T, Entry | None]]) -> T:
        """What `read` makes of the entry of a key, or else what `make` gives, whose entry is kept.

        `read` raises `NotAnEntry` for one that it cannot use, `make` gives None for something that is not to be kept.
        Of all threads and processes that need the same, one makes it, and the others wait as long as their patience
        lasts.
        """
        found = self.read(key, read)
        if found is None:
            with self.flight(key):
                found = self.read(key, read)
                if found is None:
                    found, entry = make()
                    if entry is not None:
                        self.publish(key, entry)
        return found

    def flush(self, timeout: float | None = None) -> bool:
        """Wait for writes to the remote store, as the end of the process does; whether all were made."""
        return self._remote is None or self._remote.flush(timeout)

    def flight(self, key: str) -> AbstractContextManager[None]:
        """Be the only one who makes the entry of a key, as far as that can be had; ask `find` again inside."""
        _check_key(key)
        return flight(os.path.join(self._local.root, "claims"), key, self.patience, self._local.make)

    def entries(self) -> Iterator[Listed]:
        """What the local directory has, by key; artifacts are not read."""
        for file in sorted(self._local.files(), key=lambda file: file.name):
            if file.part == "ac":
                try:
                    written = self._inspected.read("ac", file.name, LARGEST_RECORD)
                    record = read_record(written or b"", file.name, self._signer)
                except NotAnEntry:
                    continue
                sizes = {name: artifact.size for name, artifact in record.artifacts.items()}
                yield Listed(file.name, record.facts, sizes, file.size + sum(sizes.values()), file.used)

    def verify(self) -> Checked:
        """Read everything the local directory has, and discard what is not as it should be."""
        good, discarded = 0, []
        for file in sorted(self._local.files(), key=lambda file: (file.part, file.name)):
            if file.part == "ac":
                is_good = is_digest(file.name) and self._is_whole(file.name)
            else:
                content = self._inspected.read("cas", file.name, LARGEST_ARTIFACT)
                is_good = content is not None and digest_of(content) == file.name
            if is_good:
                good += file.part == "ac"
            else:
                self._local.remove(file.path)
                discarded.append(f"{file.part}/{file.name}")
        return Checked(good, tuple(discarded))

    def prune(self, bytes: int) -> Pruned:
        """Evict what was not used for the longest until the local directory has at most so many bytes."""
        remove_abandoned(os.path.join(self._local.root, "claims"))
        return evict(self._local, bytes)

    def export(self, path: str, keys: Iterable[str] | None = None) -> int:
        """Write entries, all or those of `keys`, to an archive; how many it has. Raises OSError where it cannot."""
        wanted = sorted(keys) if keys is not None else [one.key for one in self.entries()]
        written: list[str] = []
        import_late("triptych.artifact_store.archives").write_archive(path, self._exported(wanted, written))
        return len(written)

    def import_(self, path: str) -> Checked:
        """Take in the entries of an archive, verified as everything is.

        Raises OSError where it cannot be read, `ArchiveError` where it is none.
        """
        good, discarded = 0, []
        for part, name, data in import_late("triptych.artifact_store.archives").read_archive(path):
            fits = self._is_record(name, data) if part == "ac" else digest_of(data) == name
            if fits:
                self._local.write(part, name, data)
            if fits and part == "ac":
                fits = self._is_whole(name)
                good += fits
            if not fits:
                discarded.append(f"{part}/{name}")
        return Checked(good, tuple(discarded))

    def read(self, key: str, read: Callable[[Entry], T]) -> T | None:
        """What `read` makes of the entry of a key, as for `find_or_make`; None: make it."""
        tier, entry = self._find(key)
        if entry is None:
            return None
        try:
            return read(entry)
        except NotAnEntry as error:
            self._local.remove(self._local.path("ac", key))
            discard(key, tier, str(error))
            return None

    def _exported(self, keys: list[str], written: list[str]) -> Iterator[tuple[Part, str, bytes]]:
        """Artifacts before the records that name them, each once."""
        seen: set[str] = set()
        for key in keys:
            found = self._ask("local", self._inspected, key)
            if found is not None:
                entry, record = found
                contents = {digest_of(content): content for content in entry.artifacts.values()}
                for digest in sorted(contents.keys() - seen):
                    yield "cas", digest, contents[digest]
                seen |= contents.keys()
                yield "ac", key, record
                written.append(key)

    def _is_record(self, key: str, data: bytes) -> bool:
        try:
            return is_digest(key) and bool(read_record(data, key, self._signer))
        except NotAnEntry:
            return False

    def _is_whole(self, key: str) -> bool:
        try:
            return load(self._inspected, key, self._signer) is not None
        except NotAnEntry:
            return False

    def _ask(self, tier: str, directory: Directory, key: str) -> tuple[Entry, bytes] | None:
        try:
            return load(directory, key, self._signer)
        except NotAnEntry as error:
            if tier == "local":
                directory.remove(directory.path("ac", key))
                if error.artifact:
                    directory.remove(directory.path("cas", error.artifact))
            if isinstance(error, Evicted):
                report("evict", key, tier, str(error))
            else:
                discard(key, tier, str(error))
            return None
        except OSError as error:
            self._complain(directory, "cannot be read", error)
            return None

    def _keep(self, key: str, written: bytes, artifacts: Mapping[str, bytes]) -> bool:
        """Write to the local directory: artifacts first, so that a record never names what is not there yet."""
        try:
            for content in artifacts.values():
                self._local.write("cas", digest_of(content), content)
            self._local.write("ac", key, written)
            account(self._local, len(written) + sum(map(len, artifacts.values())), self.budget)
        except OSError as error:
            self._complain(self._local, "cannot keep compiled code", error)
            return False
        return True

    def _complain(self, directory: Directory, what: str, error: OSError) -> None:
        """Once per cause: an error names the file it was about, which is another one each time."""
        if isinstance(error, Refused):
            warn_once(f"refused {directory.root}", f"a store of compiled code is not used: {error}")
        else:
            text = f"the store in {directory.root} {what}: {error.strerror or error}"
            warn_once(text, text)


def _check_key(key: str) -> None:
    """Keys are names of files here and of objects elsewhere."""
    if not is_digest(key):
        raise ValueError(f"a key of the store is a SHA-256 in hexadecimal, not {key!r}")
