"""A tier that is a directory: `ac/ab/KEY.json` and `cas/cd/DIGEST`, each file written beside and moved into place.

The local one is private: 0700, of this user, files 0600; any other is refused, since whoever can write there can have
us run their code. Directories of several users (a read-only shared one, a `file://` remote) may be read by all. Where
records are not signed, such a directory is judged as a whole, by its owners: its root, the folders on the way, and each
file once it is open.

File ownership: who else could have written a folder, a file or a socket, by its owner and its mode. Compiled code is
run as it is, so whoever can write where it is read from can have us run theirs. What belongs to this user or to root
and is writable by nobody else is theirs alone. The file is what decides, since it is judged after it was opened: names
may point elsewhere a moment later, but nobody can give a file away. Windows has other rules, and there the directories'
own access lists are all there is.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from typing import Literal, Protocol

from triptych.artifact_store.record import (
    LARGEST_ARTIFACT,
    LARGEST_RECORD,
    Entry,
    Evicted,
    Signer,
    check_artifact,
    read_record,
)
from triptych.support.dataclass import dataclass

Part = Literal["ac", "cas"]

PARTS: tuple[Part, ...] = ("ac", "cas")
LIMITS = {"ac": LARGEST_RECORD, "cas": LARGEST_ARTIFACT}
SUFFIXES = {"ac": ".json", "cas": ""}
TOUCH_AFTER = 60.0
"""Seconds: a file that was used less long ago is not marked as used again."""
_NUMBERS = count()
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of a directory, as eviction and listings see it."""

    part: Part
    name: str
    path: str
    size: int
    used: float


class Directory:
    """Records and artifacts by name, as bytes. What they mean is for others to check."""

    def __init__(self, root: str, *, private: bool, marks: bool = False, trusts_anyone: bool = False) -> None:
        self.root = root
        self.private = private
        self.marks = marks
        """Reading marks a file as used."""
        self.trusts_anyone = trusts_anyone
        """Records are signed, so it does not matter who can write."""

    def __repr__(self) -> str:
        return f"Directory({self.root!r}, private={self.private})"

    def path(self, part: Part, name: str) -> str:
        return os.path.join(self.root, part, name[:2], name + SUFFIXES[part])

    def read(self, part: Part, name: str, limit: int) -> bytes | None:
        """The content, or None; at most so many bytes. Raises `Refused` for what others could have written."""
        path = self.path(part, name)
        if not (self._is_there() and self._are_ours(os.path.join(self.root, part), os.path.dirname(path))):
            return None
        try:
            descriptor = os.open(path, _READ)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno == errno.ELOOP:  # a link, which is nothing of ours
                return b""
            raise
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > limit:
                return b""  # which is no entry
            if not self.trusts_anyone:
                check_owner(path, status)
            data = _read_all(descriptor, status.st_size)
            if self.marks:
                _mark_used(descriptor, status.st_mtime)
        finally:
            os.close(descriptor)
        return data

    def write(self, part: Part, name: str, data: bytes) -> None:
        """Put a file in place, whole or not at all. A power failure may still tear it: its digest tells."""
        self.make()
        target = self.path(part, name)
        fresh = os.path.join(self.root, "tmp", f"{os.getpid()}-{next(_NUMBERS)}-{os.urandom(6).hex()}")
        try:
            descriptor = os.open(fresh, _CREATE, 0o600 if self.private else 0o644)
            try:
                _write_all(descriptor, data)
            finally:
                os.close(descriptor)
            self._make_folder(os.path.dirname(target))
            os.replace(fresh, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(fresh)
            raise

    def remove(self, path: str) -> None:
        """Drop a file. That it has gone already, or cannot go, changes nothing: it is verified when it is read."""
        with suppress(OSError):
            os.unlink(path)

    def files(self) -> Iterator[StoredFile]:
        """Every file, in no order; some may have gone when their turn comes."""
        for part in PARTS:
            for folder in _scan(os.path.join(self.root, part)):
                for item in _scan(folder.path):
                    suffix = SUFFIXES[part]
                    with suppress(OSError):
                        status = item.stat(follow_symlinks=False)
                        if stat.S_ISREG(status.st_mode) and item.name.endswith(suffix):
                            name = item.name.removesuffix(suffix)
                            yield StoredFile(part, name, item.path, status.st_size, status.st_mtime)

    def remove_leftovers(self, age: float = 3600.0) -> None:
        """Files that killed writers left, by any clock: one that is an hour in the future is as strange."""
        now = time.time()
        for item in _scan(os.path.join(self.root, "tmp")):
            with suppress(OSError):
                if abs(now - item.stat(follow_symlinks=False).st_mtime) > age:
                    os.unlink(item.path)

    def make(self) -> None:
        """Create what is missing, and refuse what others could write."""
        if not self._is_there():
            self._make_folder(self.root)
            self._check(os.stat(self.root))
        for folder in ("tmp", *PARTS):
            self._make_folder(os.path.join(self.root, folder))

    def _make_folder(self, folder: str) -> None:
        """With its parents, and so that others cannot write there, whatever the umask says; signed records let them."""
        if os.path.isdir(folder):
            return
        parent = os.path.dirname(folder)
        if parent not in ("", folder):
            self._make_folder(parent)
        with suppress(FileExistsError):  # another process was quicker
            os.mkdir(folder, 0o700 if self.private else 0o777 if self.trusts_anyone else 0o755)

    def _is_there(self) -> bool:
        """Asked at each reading, for a microsecond: the first writer, perhaps of another process, makes it."""
        try:
            status = os.stat(self.root)
        except (FileNotFoundError, NotADirectoryError):
            return False
        self._check(status)
        return True

    def _are_ours(self, *folders: str) -> bool:
        """Whether the folders are there. Raises `Refused` where others could have written."""
        if not self.trusts_anyone:
            try:
                for folder in folders:
                    check_owner(folder, os.stat(folder))
            except (FileNotFoundError, NotADirectoryError):
                return False
        return True

    def _check(self, status: os.stat_result) -> None:
        if not stat.S_ISDIR(status.st_mode):
            raise Refused(f"{self.root} is not a directory")
        if not hasattr(os, "geteuid"):
            return
        if self.private and status.st_uid != os.geteuid():
            raise Refused(f"{self.root} belongs to user {status.st_uid}, not to this one ({os.geteuid()})")
        if self.private and status.st_mode & 0o077:
            raise Refused(f"{self.root} is open to other users: `chmod 700 {self.root}` makes it private")
        if not self.private and not self.trusts_anyone:
            check_owner(self.root, status)


def _scan(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as items:
            return list(items)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _read_all(descriptor: int, size: int) -> bytes:
    """As many bytes as there were when it was opened; files are replaced, never changed."""
    chunks, left = [], size
    while left and (chunk := os.read(descriptor, left)):
        chunks.append(chunk)
        left -= len(chunk)
    return b"".join(chunks)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _mark_used(descriptor: int, used: float) -> None:
    """Eviction takes what was not used for the longest. A clock that was set back leaves times in the future."""
    age = time.time() - used
    if age > TOUCH_AFTER or age < 0:
        with suppress(OSError):
            os.utime(descriptor)


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


_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_SIGN = "or have records signed (TRIPTYCH_CACHE_KEY_FILE)"


class Refused(OSError):
    """Something that must not be used as it is."""


def check_owner(path: str, status: os.stat_result) -> None:
    """Refuse what another user than root could have written."""
    if not hasattr(os, "geteuid"):
        return
    if status.st_uid not in (0, os.geteuid()):
        raise Refused(
            f"{path} belongs to user {status.st_uid}, and records are not signed: it has to belong to this user "
            f"({os.geteuid()}) or to root, {_SIGN}"
        )
    if status.st_mode & _OTHERS_WRITE:
        raise Refused(f"other users can write to {path}, and records are not signed: `chmod go-w {path}`, {_SIGN}")
