"""The remote tier against a real Redis server: found by others, and stopped while it is used."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.stores import entry_of, events, key_of, kinds, store_in
from triptych.artifact_store import events as events_module
from triptych.artifact_store.events import StoreWarning
from triptych.artifact_store.record import SharedKey
from triptych.artifact_store.remote import Remote

redis = pytest.importorskip("redis", reason="the package redis is not installed")
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


def test_value_of_another_type_is_a_miss_and_the_server_is_still_asked(tmp_path: Path, server: Server) -> None:
    client = redis.Redis.from_url(server.url)
    client.lpush(f"triptych:ac:{key_of(1)}", "a list")
    store = store_in(tmp_path / "s", remote=Remote(server.url, writes=True, timeout=20))
    with pytest.warns(StoreWarning, match="no string"):
        assert store.find(key_of(1)) is None
    store.publish(key_of(2), entry_of(2))
    assert store.flush(30)
    other = store_in(tmp_path / "other", remote=Remote(server.url, timeout=20))
    assert other.find(key_of(1)) is None
    assert other.find(key_of(2)) == entry_of(2)


@pytest.mark.parametrize("part", ["ac", "cas"])
def test_value_that_is_too_large_is_not_sent(tmp_path: Path, server: Server, part: str) -> None:
    first = store_in(tmp_path / "first", remote=Remote(server.url, writes=True, timeout=20))
    first.publish(key_of(1), entry_of(1))
    assert first.flush(30)
    client = redis.Redis.from_url(server.url)
    for name in client.keys(f"triptych:{part}:*"):
        client.setrange(name, 100 << 20, b"x")
    sent = int(client.info("stats")["total_net_output_bytes"])
    with pytest.warns(StoreWarning, match="no entry"):
        assert store_in(tmp_path / "s", remote=Remote(server.url, timeout=20)).find(key_of(1)) is None
    assert int(client.info("stats")["total_net_output_bytes"]) - sent < 8 << 20


@pytest.mark.parametrize(("mode", "is_used"), [(0o700, True), (0o777, False)])
def test_socket_that_others_can_write_to_needs_a_key(tmp_path: Path, mode: int, is_used: bool) -> None:
    path = tmp_path / "redis.sock"
    words = ["redis-server", "--port", "0", "--unixsocket", str(path), "--unixsocketperm", oct(mode)[2:], "--save", ""]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, cwd=tmp_path)
    try:
        while not path.exists() or path.stat().st_mode & 0o777 != mode:
            assert process.poll() is None
            time.sleep(0.02)
        for signer in (None, SharedKey(b"0" * 16)):
            events_module._WARNED.clear()
            remote = Remote(f"unix://{path}", writes=True, timeout=20, signer=signer)
            store = store_in(tmp_path / f"s{signer is None}", remote=remote, signer=signer)
            is_fine = is_used or signer is not None
            with nullcontext() if is_fine else pytest.warns(StoreWarning, match="other users can write"):
                store.publish(key_of(1), entry_of(1))
                store.flush(30)
            other = Remote(f"unix://{path}", timeout=20, signer=signer)
            other_store = store_in(tmp_path / f"o{signer is None}", remote=other, signer=signer)
            assert other_store.find(key_of(1)) == (entry_of(1) if is_fine else None)
    finally:
        process.kill()
        process.wait()


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
