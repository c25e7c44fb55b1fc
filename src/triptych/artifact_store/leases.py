"""Lease on a store entry (single flight): of all threads and processes that miss it, one compiles, the others wait.

A claim is a file that its owner has locked (`flock`): the kernel releases it when the owner ends, however it ends. The
owner removes the file before it lets go of it; whoever gets the lock of a file that is no longer the one in the
directory tries again. Waiting is bounded: after that, or where files cannot be locked, the entry is made twice, which
costs time and nothing else.
"""

from __future__ import annotations

import importlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from triptych.artifact_store.events import report
from triptych.support.forking import Brief
from triptych.support.interrupts import interruptible

_SHORTEST, _LONGEST = 0.001, 0.05
"""Seconds between two attempts: each waits twice as long as the one before."""
_MANY = 64
"""Files of claims from which on those of killed owners are looked for."""

FILE_LOCKS: Any = importlib.import_module("fcntl") if os.name == "posix" else None
"""`fcntl`; None on Windows, which locks files in other ways."""
_TABLE = Brief()
_HELD: dict[str, Lease] = {}
"""The claims of this process by path. A forked child has none: they are its parent's."""


class Lease:
    """The right to make one entry."""

    __slots__ = ("_descriptor", "_is_file", "_path", "_thread")

    def __init__(self, path: str, is_file: bool = True) -> None:
        self._path = path
        self._is_file = is_file
        self._thread = threading.get_ident()
        self._descriptor = -1
        """Of the locked file; -1 where files cannot be locked: then the claim holds in this process only."""

    def take(self) -> bool:
        """Try to get it, without waiting. Opening and noting are one step for forks."""
        with _TABLE:
            holder = _HELD.get(self._path)
            if holder is not None:
                return holder._thread == self._thread  # a compilation inside a compilation of the same
            try:
                if self._is_file and not self._lock():
                    return False
            except OSError:
                self._close()
            _HELD[self._path] = self
            return True

    def release(self) -> None:
        """Give it back, if this process has it: a child that was forked inside a flight owns nothing."""
        with _TABLE:
            if _HELD.get(self._path) is self:
                del _HELD[self._path]
                if self._descriptor >= 0:
                    with suppress(OSError):
                        os.unlink(self._path)
            self._close()

    def _lock(self) -> bool:
        """Lock the file of this path: the one that lies there when it is locked."""
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        self._descriptor = os.open(self._path, flags, 0o600)
        try:
            FILE_LOCKS.flock(self._descriptor, FILE_LOCKS.LOCK_EX | FILE_LOCKS.LOCK_NB)
            if os.path.samestat(os.fstat(self._descriptor), os.stat(self._path)):
                return True
        except (BlockingIOError, FileNotFoundError):
            pass
        self._close()
        return False

    def _close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


@contextmanager
def flight(folder: str, key: str, patience: float, make_root: Callable[[], None]) -> Iterator[None]:
    """Hold the claim of `key` for the time of a `with`, or go on without it after `patience` seconds."""
    claim = Lease(os.path.join(folder, key), _make(folder, make_root))
    try:
        _wait(claim, key, patience)
        yield
    finally:
        claim.release()


def _make(folder: str, make_root: Callable[[], None]) -> bool:
    """Whether there is a folder for claims, and it can be written to: else they hold in this process only."""
    if FILE_LOCKS is None:
        return False
    try:
        make_root()
        os.makedirs(folder, 0o700, exist_ok=True)
        if len(os.listdir(folder)) > _MANY:
            remove_abandoned(folder)
    except OSError:
        return False
    return True


def _wait(claim: Lease, key: str, patience: float) -> None:
    began, pause = time.monotonic(), _SHORTEST
    while not claim.take():
        waited = time.monotonic() - began
        if waited >= patience:
            report("wait", key, detail=f"given up after {waited:.1f} s: whoever makes this entry has not finished")
            return
        _pause(min(pause, patience - waited))
        pause = min(2 * pause, _LONGEST)
    if pause > _SHORTEST:
        report("wait", key, detail=f"waited {time.monotonic() - began:.3f} s")


@interruptible
def _pause(seconds: float) -> None:
    time.sleep(seconds)


def remove_abandoned(folder: str) -> None:
    """Remove the files of owners that were killed: those that can be locked."""
    with suppress(OSError):
        for name in os.listdir(folder):
            claim = Lease(os.path.join(folder, name))
            if claim.take():
                claim.release()


def _after_fork() -> None:
    """Let go of the parent's claims without unlocking them: as long as a child has the file open, it stays locked."""
    for claim in _HELD.values():
        claim._close()
    _HELD.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
