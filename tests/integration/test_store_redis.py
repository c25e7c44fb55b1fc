"""The remote tier against a real Redis server: found by others, and stopped while it is used."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.stores import entry_of, events, key_of, kinds, store_in
from triptych.artifact_store import events as events_module
from triptych.artifact_store.events import StoreWarning
from triptych.artifact_store.remote import Remote
from triptych.artifact_store.signatures import SharedKey

pytest.importorskip("redis", reason="the package redis is not installed")
pytestmark = pytest.mark.skipif(shutil.which("redis-server") is None, reason="there is no redis-server on PATH")


@dataclass
class Server:
    process: subprocess.Popen[bytes]
    url: str


@contextmanager
def redis_server(folder: Path) -> Iterator[Server]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    try:
        while True:
            with socket.socket() as attempt:
                if attempt.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None
            time.sleep(0.02)
        yield Server(process, f"redis://127.0.0.1:{port}/0")
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(events_module, "_WARNED", set())
    with redis_server(tmp_path) as server:
        yield server


def test_what_one_machine_publishes_another_finds(tmp_path: Path, server: Server) -> None:
    signer = SharedKey(b"0" * 16)
    remote = Remote(server.url, writes=True, timeout=20, signer=signer)
    first = store_in(tmp_path / "first", remote=remote, signer=signer)
    for number in range(20):
        first.publish(key_of(number), entry_of(number, 100_000))
    assert first.flush(30)
    second = store_in(tmp_path / "second", remote=Remote(server.url, timeout=20, signer=signer), signer=signer)
    with events() as seen:
        for number in range(20):
            assert second.find(key_of(number)) == entry_of(number, 100_000)
        assert second.find(key_of(99)) is None
    assert kinds(seen) == ["hit"] * 20 + ["miss"]
    stranger = store_in(tmp_path / "third", remote=Remote(server.url, timeout=20))
    assert stranger.find(key_of(1)) == entry_of(1, 100_000)
    careful = SharedKey(b"1" * 16)
    other = store_in(tmp_path / "fourth", remote=Remote(server.url, timeout=20, signer=careful), signer=careful)
    with pytest.warns(StoreWarning, match="the signature is not ours"):
        assert other.find(key_of(1)) is None


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM])
def test_server_that_stops_in_the_middle(tmp_path: Path, server: Server, how: signal.Signals) -> None:
    """Dead, or silent: the entries are there, one bound is lost, one warning is given."""
    store = store_in(tmp_path / "s", remote=Remote(server.url, writes=True, timeout=0.3))
    times: list[float] = []

    def need_all() -> None:
        for number in range(40):
            if number == 20:
                os.kill(server.process.pid, how)
                time.sleep(0.1)
            began = time.monotonic()
            with store.flight(key_of(number)):
                assert store.find(key_of(number)) is None
                store.publish(key_of(number), entry_of(number))
            times.append(time.monotonic() - began)
            assert store.find(key_of(number)) == entry_of(number)
        store.flush(5)

    with pytest.warns(StoreWarning, match=r"redis://127.0.0.1:\d+/0 cannot be used") as caught:
        need_all()
    assert len(caught) == 1
    assert sum(times[20:]) < 15 * 0.3, "each of the twenty waited for the server"
