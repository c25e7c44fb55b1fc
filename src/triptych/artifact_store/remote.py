"""The remote tier: asked last, for a bounded time, and left alone for a while when it does not answer.

A look-up runs in a thread of its own, and whoever asked waits for it no longer than `timeout` seconds, whatever the
other side does. Writes are made in the background; the end of the process waits for them no longer than that either.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol
from urllib.parse import urlsplit

from triptych.artifact_store.directory import Part, load
from triptych.artifact_store.events import discard, report, warn_once
from triptych.artifact_store.record import Entry, Evicted, NotAnEntry, Signer, digest_of
from triptych.support.forking import PerProcess, import_late
from triptych.support.interrupts import interruptible
from triptych.support.remote_url import authenticates, shown, without_secrets

REST = 30.0
"""Seconds for which a remote store that failed is left alone."""
_A_MOMENT = 5.0
"""Seconds for which a remote store that did not have an entry is not asked for it again."""
_MOST_MISSED = 1024
_SLOW = 0.5
"""The share of `timeout` from which on an answer is slow, unless it is a large one."""
_LARGE = 1 << 20
_TRANSPORTS = {
    "file": "file_tree",
    "local": "file_tree",
    "http": "http_cache",
    "https": "http_cache",
    "redis": "redis_cache",
    "rediss": "redis_cache",
    "unix": "redis_cache",
}


class Connection(Protocol):
    """What transports give. An exception says that the remote store cannot be used now, unless it is `NotAnEntry`."""

    def read(self, part: Part, name: str, limit: int) -> bytes | None: ...
    def write(self, part: Part, name: str, data: bytes) -> None: ...
    def close(self) -> None: ...


class Remote:
    """A remote store by its URL."""

    def __init__(
        self,
        url: str,
        *,
        timeout: float = 2.0,
        writes: bool = False,
        signer: Signer | None = None,
        dares: bool = False,
    ) -> None:
        self.name = shown(url)
        self.timeout = timeout
        self._url = url
        self._signer = signer
        self._dares = dares
        self._writes = BackgroundWrites(self._write) if writes else None
        if writes:
            atexit.register(self._end)
        self._rests_until = float("-inf")
        self._unanswered: threading.Thread | None = None
        """The look-up that took too long. While it is under way, no other is begun."""
        self._missed: dict[str, float] = {}
        self._trouble = ""
        """What a thread of ours has seen, to be said in one of the user's."""

    def find(self, key: str) -> tuple[Entry, bytes] | None:
        """The entry and its record, if the remote store answers in time and has it."""
        self._say_trouble()
        if self._rests() or self._was_missed(key) or not self._is_importable():
            return None
        self._say_danger()
        lookup = _Lookup(lambda: self._read(key))
        began = time.monotonic()
        if not lookup.run(self.timeout):
            self._unanswered = lookup.thread
            self._fail(f"no answer within {self.timeout:g} s")
        elif isinstance(lookup.error, Evicted):
            report("evict", key, self.name, str(lookup.error))
        elif isinstance(lookup.error, NotAnEntry):
            discard(key, self.name, str(lookup.error))
        elif lookup.error is not None:
            self._fail(f"{type(lookup.error).__name__}: {lookup.error}")
        else:
            self._judge_speed(time.monotonic() - began, lookup.result)
        self._say_trouble()
        if lookup.result is None:
            self._missed[key] = time.monotonic()
        return lookup.result

    def publish(self, key: str, written: bytes, artifacts: Mapping[str, bytes]) -> None:
        """Have an entry written in the background, if writing was asked for."""
        self._say_trouble()
        if self._writes is not None and not self._rests() and self._is_importable():
            self._writes.give(key, written, {digest_of(content): content for content in artifacts.values()})

    def flush(self, timeout: float | None = None) -> bool:
        """Wait for what is being written, `timeout` seconds at most; whether all of it was."""
        done = self._writes is None or self._writes.flush(self.timeout if timeout is None else timeout)
        self._say_trouble()
        return done

    def _end(self) -> None:
        """The end of the process waits for what is being written, and says what was not."""
        if not self.flush() and self._writes is not None:
            self._trouble = f"not written within {self.timeout:g} s: {self._writes.left()} of the compiled programs"
            self._say_trouble()

    def _judge_speed(self, seconds: float, found: tuple[Entry, bytes] | None) -> None:
        """A server that answers late, every time, costs more than it saves."""
        size = 0 if found is None else len(found[1]) + sum(map(len, found[0].artifacts.values()))
        if seconds > _SLOW * self.timeout and size < _LARGE:
            self._fail(f"an answer took {seconds:.1f} s")

    def _read(self, key: str) -> tuple[Entry, bytes] | None:
        connection = self._connect()
        try:
            return load(connection, key, self._signer)
        finally:
            connection.close()

    def _write(self, key: str, written: bytes, contents: Mapping[str, bytes]) -> bool:
        """In the thread of the writer: artifacts first, then the record that names them."""
        if self._rests():
            return False
        try:
            connection = self._connect()
            try:
                for digest, content in contents.items():
                    connection.write("cas", digest, content)
                connection.write("ac", key, written)
            finally:
                connection.close()
        except Exception as error:  # of any library: it becomes a warning
            self._fail(f"{type(error).__name__}: {error}")
            return False
        report("publish", key, self.name)
        return True

    def _connect(self) -> Connection:
        trusts_anyone = self._signer is not None or self._dares
        connection: Connection = self._transport().connect(self._url, self.timeout, trusts_anyone=trusts_anyone)
        return connection

    def _transport(self) -> Any:
        name = _TRANSPORTS.get(urlsplit(self._url).scheme, "fsspec_files")
        return import_late(f"triptych.artifact_store.transports.{name}")

    def _is_importable(self) -> bool:
        """Import what the transport needs before the clock runs; what is not installed will not be, in this process."""
        try:
            for package in self._transport().PACKAGES:
                import_late(package)
        except ImportError as error:
            self._rests_until = float("inf")
            self._trouble = f"its scheme needs a package that is not installed ({error})"
            self._say_trouble()
            return False
        return True

    def _was_missed(self, key: str) -> bool:
        """Whether it was asked for a moment ago: everybody asks again when they have the claim."""
        if len(self._missed) > _MOST_MISSED:
            self._missed = {}
        return time.monotonic() - self._missed.get(key, float("-inf")) < _A_MOMENT

    def _rests(self) -> bool:
        unanswered = self._unanswered is not None and self._unanswered.is_alive()
        return unanswered or time.monotonic() < self._rests_until

    def _fail(self, reason: str) -> None:
        self._rests_until = time.monotonic() + REST
        reason = without_secrets(reason, self._url)
        self._trouble = f"{reason}; it is left alone for {REST:g} s each time this happens"

    def _say_danger(self) -> None:
        if self._dares and self._signer is None and not authenticates(self._url):
            text = f"whoever answers for {self.name} can have this process run their code: nothing is signed, and no "
            warn_once(f"danger {self.name}", text + "certificate is verified", self.name)

    def _say_trouble(self) -> None:
        trouble, self._trouble = self._trouble, ""
        if trouble:
            warn_once(f"remote {self.name}", f"the remote store {self.name} cannot be used: {trouble}", self.name)


class _Lookup:
    """Work in a thread that nobody waits for longer than they want to."""

    def __init__(self, work: Callable[[], tuple[Entry, bytes] | None]) -> None:
        self._work = work
        self._done: list[tuple[Entry, bytes] | None] = []
        self.error: Exception | None = None
        self.thread = threading.Thread(target=self._run, daemon=True, name="triptych-store-look-up")

    @property
    def result(self) -> tuple[Entry, bytes] | None:
        return self._done[0] if self._done else None

    @interruptible
    def run(self, timeout: float) -> bool:
        """Whether it came to an end, with a result or an error."""
        try:
            self.thread.start()
        except RuntimeError as error:  # no more threads, or Python is ending
            self.error = error
            return True
        self.thread.join(timeout)
        return not self.thread.is_alive()

    def _run(self) -> None:
        try:
            self._done.append(self._work())
        except Exception as error:  # of any library: whoever waits says it
            self.error = error


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
