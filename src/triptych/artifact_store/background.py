"""Background writes to the store: one thread makes them in order, and ends when there are none left."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping

from triptych.artifact_store.events import report
from triptych.support.forking import PerProcess

_MOST = 256 << 20
"""Bytes that may wait. More is not written: memory belongs to the program."""

Write = Callable[[str, bytes, Mapping[str, bytes]], bool]


class BackgroundWrites:
    """A queue with a thread. A forked child begins with an empty one: what waits is its parent's to write."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._lock = PerProcess()
        self._process = os.getpid()
        self._waiting: deque[tuple[str, bytes, Mapping[str, bytes]]] = deque()
        self._bytes = 0
        self._thread: threading.Thread | None = None
        self._is_writing = False

    def give(self, key: str, written: bytes, contents: Mapping[str, bytes]) -> None:
        """Have an entry written."""
        size = len(written) + sum(map(len, contents.values()))
        with self._lock.here():
            self._begin()
            if self._bytes + size > _MOST:
                report("trouble", key, "remote", "not written: too much is waiting already")
                return
            self._bytes += size
            self._waiting.append((key, written, contents))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="triptych-store-writes")
                try:
                    self._thread.start()
                except RuntimeError:  # no more threads, or Python is ending
                    self._thread = None
                    self._drop()

    def flush(self, timeout: float) -> bool:
        """Wait until nothing is left, but no longer than that; whether nothing is."""
        end = time.monotonic() + timeout
        while True:
            with self._lock.here():
                self._begin()
                thread = self._thread
            if thread is None:
                return True
            thread.join(max(0.0, end - time.monotonic()))
            if time.monotonic() >= end:
                return not thread.is_alive()

    def left(self) -> int:
        """How many entries are still to be written."""
        with self._lock.here():
            self._begin()
            return len(self._waiting) + self._is_writing

    def _begin(self) -> None:
        if self._process != os.getpid():
            self._process, self._thread, self._is_writing = os.getpid(), None, False
            self._drop()

    def _drop(self) -> None:
        self._waiting.clear()
        self._bytes = 0

    def _run(self) -> None:
        while True:
            with self._lock.here():
                self._is_writing = bool(self._waiting)
                if not self._waiting:
                    self._thread = None
                    return
                key, written, contents = self._waiting.popleft()
                self._bytes -= len(written) + sum(map(len, contents.values()))
            self._write(key, written, contents)
