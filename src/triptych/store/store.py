"""The store: look up, publish, single flight, and what the command line asks of it.

Look-ups go from the local directory to a shared one to a remote one; what a later tier has is kept in the local one.
Nothing here raises because a disk is full, a directory closed or a server gone: there is a warning, once, and the
program is compiled, as it would be without a store.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager

from triptych.store.claims import flight, remove_abandoned
from triptych.store.directory import Directory, Refused
from triptych.store.entry import Checked, Entry, Listed, Pruned
from triptych.store.events import report, warn_once
from triptych.store.eviction import account, evict
from triptych.store.loading import load
from triptych.store.record import Evicted, NotAnEntry, Signer, digest_of, is_digest, read_record, write_record


class Store:
    """Entries by key. Any number of threads and processes may use one directory; forks may happen at any time."""

    def __init__(
        self,
        directory: str,
        *,
        budget: int = 4 << 30,
        patience: float = 60.0,
        shared: str = "",
        signer: Signer | None = None,
    ) -> None:
        self.budget = budget
        """Bytes that the local directory may have."""
        self.patience = patience
        """Seconds to wait for somebody else who makes the same entry."""
        self._signer = signer
        self._local = Directory(directory, private=True)
        self._shared = Directory(shared, private=False, trusts_anyone=signer is not None) if shared else None

    def __repr__(self) -> str:
        return f"Store({self._local.root!r})"

    def find(self, key: str) -> Entry | None:
        """The entry of a key from the first tier that has it, verified to the last byte; None: make it."""
        _check_key(key)
        entry = self._find_local(key) or self._find_shared(key)
        if entry is None:
            report("miss", key)
        return entry

    def publish(self, key: str, entry: Entry) -> None:
        """Keep an entry, for this user's other processes at once. A store that cannot be written to warns, once."""
        _check_key(key)
        written = write_record(key, entry.facts, entry.artifacts, self._signer)
        if self._keep(key, written, entry.artifacts):
            report("publish", key, detail=f"{sum(map(len, entry.artifacts.values()))} bytes")

    def flight(self, key: str) -> AbstractContextManager[None]:
        """Be the only one who makes the entry of a key, as far as that can be had; ask `find` again inside."""
        _check_key(key)
        return flight(os.path.join(self._local.root, "claims"), key, self.patience, self._local.make)

    def entries(self) -> Iterator[Listed]:
        """What the local directory has, by key; artifacts are not read."""
        for file in sorted(self._local.files(), key=lambda file: file.name):
            if file.part == "ac":
                try:
                    written = self._local.read("ac", file.name, mark=False)
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
                entry = self._find_local(file.name) if is_digest(file.name) else None
                is_good = entry is not None
            else:
                content = self._local.read("cas", file.name, mark=False)
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

    def _find_local(self, key: str) -> Entry | None:
        found = self._ask("local", self._local, key)
        return found[0] if found is not None else None

    def _find_shared(self, key: str) -> Entry | None:
        found = self._ask("shared", self._shared, key) if self._shared is not None else None
        if found is None:
            return None
        entry, written = found
        self._keep(key, written, entry.artifacts)
        return entry

    def _ask(self, tier: str, directory: Directory, key: str) -> tuple[Entry, bytes] | None:
        try:
            found = load(directory, key, self._signer)
        except NotAnEntry as error:
            report("evict" if isinstance(error, Evicted) else "discard", key, tier, str(error))
            if directory is self._local:
                directory.remove(directory.path("ac", key))
                if error.artifact:
                    directory.remove(directory.path("cas", error.artifact))
            return None
        except OSError as error:
            self._complain(f"the {tier} store in {directory.root} cannot be read", error)
            return None
        if found is not None:
            report("hit", key, tier)
        return found

    def _keep(self, key: str, written: bytes, artifacts: Mapping[str, bytes]) -> bool:
        """Write to the local directory: artifacts first, so that a record never names what is not there yet."""
        try:
            for content in artifacts.values():
                self._local.write("cas", digest_of(content), content)
            self._local.write("ac", key, written)
            account(self._local, len(written) + sum(map(len, artifacts.values())), self.budget)
        except OSError as error:
            self._complain(f"compiled code cannot be kept in {self._local.root}", error)
            return False
        return True

    def _complain(self, what: str, error: OSError) -> None:
        """Once per cause: an error names the file it was about, which is another one each time."""
        if isinstance(error, Refused):
            warn_once(str(error), f"a store of compiled code is not used: {error}")
        else:
            text = f"{what}: {error.strerror or error}"
            warn_once(text, text)


def _check_key(key: str) -> None:
    """Keys are names of files here and of objects elsewhere."""
    if not is_digest(key):
        raise ValueError(f"a key of the store is a SHA-256 in hexadecimal, not {key!r}")
