"""The remote tier: by every scheme, only when asked to write, and never for longer than its bound."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.http_store import Server, http_store
from tests.support.stores import entry_of, events, files_of, key_of, kinds, store_in
from triptych.artifact_store import events as events_module
from triptych.artifact_store import remote as remote_module
from triptych.artifact_store.configured import default_store
from triptych.artifact_store.events import StoreWarning
from triptych.artifact_store.remote import Remote
from triptych.artifact_store.store import Store
from triptych.artifact_store.transports import redis_cache
from triptych.support.config import override

pytestmark = [
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.* that is no entry:triptych.artifact_store.events.StoreWarning"),
]


@pytest.fixture(autouse=True)
def no_warning_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events_module, "_WARNED", set())


@pytest.fixture
def server() -> Iterator[Server]:
    with http_store() as server:
        yield server


def node(folder: Path, url: str, *, writes: bool = True, timeout: float = 20.0) -> Store:
    """A store of one machine, with the remote one behind it."""
    return store_in(folder, remote=Remote(url, writes=writes, timeout=timeout))


def carries(tmp_path: Path, url: str) -> None:
    """What one machine publishes another finds, and has from then on."""
    first, second = node(tmp_path / "first", url), node(tmp_path / "second", url, writes=False)
    first.publish(key_of(1), entry_of(1))
    assert first.flush(30)
    with events() as seen:
        assert second.find(key_of(1)) == entry_of(1)
        assert second.find(key_of(1)) == entry_of(1)
        assert second.find(key_of(2)) is None
    assert [event.tier for event in seen] == [url, "local", "local"]
    assert kinds(seen) == ["hit", "hit", "miss"]


def test_http(tmp_path: Path, server: Server) -> None:
    carries(tmp_path, server.url)
    assert sorted(path.split("/")[2] for path in server.content) == ["ac", "cas", "cas"]


def test_directory_by_url(tmp_path: Path) -> None:
    carries(tmp_path, (tmp_path / "a b").as_uri())
    assert len(files_of(tmp_path / "a b", "cas")) == 2


def test_fsspec(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    carries(tmp_path, "memory://store")


def test_directory_that_anyone_can_write_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.warns(StoreWarning, match="other users can write"):
        assert node(tmp_path / "s", (tmp_path / "open").as_uri()).find(key_of(1)) is None


def test_password_is_sent_and_never_said(tmp_path: Path, server: Server, caplog: pytest.LogCaptureFixture) -> None:
    url = server.url.replace("http://", "http://me:s3cret%21@")
    server.status = 500
    with pytest.warns(StoreWarning, match="GET answered 500") as caught:
        node(tmp_path / "s", url).find(key_of(1))
    assert server.authorization == ["Basic bWU6czNjcmV0IQ=="]
    assert "s3cret" not in str(caught[0].message) + caplog.text


def test_nothing_is_written_unless_asked_for(tmp_path: Path, server: Server) -> None:
    store = node(tmp_path / "s", server.url, writes=False)
    store.publish(key_of(1), entry_of(1))
    assert store.flush()
    assert server.asked == []


def test_asking_again_in_the_flight_costs_no_second_question(tmp_path: Path, server: Server) -> None:
    store = node(tmp_path / "s", server.url)
    assert store.find(key_of(1)) is None
    with store.flight(key_of(1)):
        assert store.find(key_of(1)) is None
    assert len(server.asked) == 1


@pytest.mark.parametrize("part", ["ac", "cas"])
@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: b"", lambda data: data + b"x"])
def test_what_is_wrong_is_a_miss(tmp_path: Path, server: Server, part: str, change: object) -> None:
    first = node(tmp_path / "first", server.url)
    first.publish(key_of(1), entry_of(1))
    first.flush(30)
    for path in [path for path in server.content if f"/{part}/" in path]:
        server.content[path] = change(server.content[path])  # type: ignore[operator]
    with events() as seen:
        assert node(tmp_path / "second", server.url).find(key_of(1)) is None
    assert kinds(seen) == ["discard", "miss"]


def test_artifact_that_the_remote_dropped_is_a_miss(tmp_path: Path, server: Server) -> None:
    first = node(tmp_path / "first", server.url)
    first.publish(key_of(1), entry_of(1))
    first.flush(30)
    server.content = {path: data for path, data in server.content.items() if "/ac/" in path}
    assert node(tmp_path / "second", server.url).find(key_of(1)) is None


def test_slow_server_costs_one_bound_and_then_nothing(tmp_path: Path, server: Server) -> None:
    server.delay = 3.0
    store = node(tmp_path / "s", server.url, timeout=0.2)
    began = time.monotonic()
    with pytest.warns(StoreWarning, match=r"within 0\.2 s|timed out") as caught:
        found = [store.find(key_of(number)) for number in range(50)]
    assert found == [None] * 50
    assert time.monotonic() - began < 50 * 0.2
    assert len(server.asked) <= 1
    assert len(caught) == 1
    store.publish(key_of(1), entry_of(1))
    assert store.find(key_of(1)) == entry_of(1)


def test_server_that_trickles_is_bounded_too(tmp_path: Path, server: Server) -> None:
    """No byte is late, and still the whole is: a bound for each reading would not do."""
    first = node(tmp_path / "first", server.url)
    first.publish(key_of(1), entry_of(1))
    first.flush(30)
    server.pace = 0.2
    began = time.monotonic()
    with pytest.warns(StoreWarning, match=r"no answer within 0\.3 s"):
        assert node(tmp_path / "second", server.url, timeout=0.3).find(key_of(1)) is None
    assert time.monotonic() - began < 15


def test_server_that_is_not_there(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    store = node(tmp_path / "s", url)
    with pytest.warns(StoreWarning, match="Refused") as caught:
        found = [store.find(key_of(number)) for number in range(5)]
    assert found == [None] * 5
    assert len(caught) == 1


def test_it_is_asked_again_after_a_rest(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_module, "REST", 0.2)
    first = node(tmp_path / "first", server.url)
    first.publish(key_of(1), entry_of(1))
    first.flush(30)
    store = node(tmp_path / "second", server.url)
    server.status = 503
    with pytest.warns(StoreWarning, match="503"):
        assert store.find(key_of(1)) is None
    server.status = 0
    asked = len(server.asked)
    assert store.find(key_of(1)) is None
    assert len(server.asked) == asked
    time.sleep(0.25)
    monkeypatch.setattr(remote_module, "_A_MOMENT", 0.0)
    assert store.find(key_of(1)) == entry_of(1)


def test_writes_that_fail_are_said_once_by_who_comes_next(tmp_path: Path, server: Server) -> None:
    store = node(tmp_path / "s", server.url)
    server.status = 507
    store.publish(key_of(1), entry_of(1))
    with pytest.warns(StoreWarning, match="PUT answered 507"):
        store.flush(30)
    store.publish(key_of(2), entry_of(2))
    assert store.flush(30)
    assert len(server.asked) == 1


def test_the_end_waits_no_longer_than_the_bound(tmp_path: Path, server: Server) -> None:
    server.delay = 20.0
    store = node(tmp_path / "s", server.url, timeout=30.0)
    began = time.monotonic()
    for number in range(3):
        store.publish(key_of(number), entry_of(number))
    assert not store.flush(0.2)
    assert time.monotonic() - began < 20.0


def test_what_waits_is_bounded(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_module, "_MOST", 2_000)
    server.delay = 0.05
    store = node(tmp_path / "s", server.url)
    with events() as seen:
        for number in range(20):
            store.publish(key_of(number), entry_of(number))
    assert [event.tier for event in seen if event.kind == "publish"].count("local") == 20
    assert "trouble" in kinds(seen)
    store.flush(30)


def test_forked_child_writes_its_own_and_not_its_parents(tmp_path: Path, server: Server) -> None:
    server.delay = 0.1
    store = node(tmp_path / "s", server.url)
    for number in range(3):
        store.publish(key_of(number), entry_of(number))
    pid = os.fork()
    if not pid:
        store.publish(key_of(9), entry_of(9))
        os._exit(0 if store.flush(30) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert store.flush(30)
    written = [line for line in server.asked if "/ac/" in line]
    assert sorted(written) == sorted(f"PUT /cache/ac/{key_of(number)}" for number in (0, 1, 2, 9))


def test_scheme_that_nobody_knows(tmp_path: Path) -> None:
    store = node(tmp_path / "s", "abacus://beads")
    with pytest.warns(StoreWarning, match="abacus") as caught:
        found = [store.find(key_of(number)) for number in range(3)]
    assert found == [None] * 3
    assert len(caught) == 1


def test_package_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    store = node(tmp_path / "s", "redis://127.0.0.1:1")
    with pytest.warns(StoreWarning, match="not installed") as caught:
        found = [store.find(key_of(number)) for number in range(3)]
    assert found == [None] * 3
    assert len(caught) == 1


def test_remote_of_the_settings(tmp_path: Path, server: Server) -> None:
    (tmp_path / "key").write_bytes(b"a key of sixteen")
    with override(cache=True, cache_remote=server.url, cache_key_file=str(tmp_path / "key")):
        with override(cache_dir=str(tmp_path / "s"), cache_remote_write=True):
            store = default_store()
            assert store is not None
            store.publish(key_of(1), entry_of(1))
            assert store.flush(30)
        with override(cache_dir=str(tmp_path / "other"), cache_remote_timeout=20.0):
            store = default_store()
            assert store is not None
            assert store.find(key_of(1)) == entry_of(1)


def test_query_is_sent_and_never_said(tmp_path: Path, server: Server, caplog: pytest.LogCaptureFixture) -> None:
    """Tokens of http stores are often in a query, or are all that is in front of `@`."""
    first = node(tmp_path / "first", server.url + "?sig=s3cret&x=1")
    first.publish(key_of(1), entry_of(1))
    assert first.flush(30)
    assert all(path.endswith("?sig=s3cret&x=1") for path in server.content)
    assert len(server.content) == 3
    server.status = 500
    with pytest.warns(StoreWarning, match=r"cache\?… cannot be used") as caught:
        node(tmp_path / "second", server.url + "?sig=s3cret").find(key_of(1))
    with pytest.warns(StoreWarning, match=r"http://…@127") as more:
        node(tmp_path / "third", server.url.replace("//", "//s3cret@")).find(key_of(1))
    assert "s3cret" not in str(caught[0].message) + str(more[0].message) + caplog.text


def test_error_of_a_library_that_quotes_the_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("cannot reach redis://me:s3%40ret@host/0?password=hunter2 with s3@ret")

    monkeypatch.setattr(redis_cache, "connect", fail)
    monkeypatch.setattr(redis_cache, "PACKAGES", ())
    with pytest.warns(StoreWarning, match="cannot reach") as caught:
        node(tmp_path / "s", "redis://me:s3%40ret@host/0?password=hunter2").find(key_of(1))
    assert not {"s3%40ret", "s3@ret", "hunter2"} & set(re.findall(r"[\w%@]+", str(caught[0].message)))


@pytest.mark.parametrize("part", ["ac", "cas"])
def test_value_that_is_too_large_is_not_read_whole(tmp_path: Path, server: Server, part: str) -> None:
    first = node(tmp_path / "first", server.url)
    first.publish(key_of(1), entry_of(1))
    first.flush(30)
    for path in [path for path in server.content if f"/{part}/" in path]:
        server.content[path] += bytes(40 << 20)
    tracemalloc.start()
    try:
        with pytest.warns(StoreWarning, match="no entry"):
            assert node(tmp_path / "second", server.url).find(key_of(1)) is None
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20 << 20


def test_slow_answers_are_said_and_not_waited_for_again(tmp_path: Path, server: Server) -> None:
    """Each within its bound, and still a cost at every look-up."""
    server.delay = 1.2
    store = node(tmp_path / "s", server.url, timeout=2.0)
    with pytest.warns(StoreWarning, match=r"an answer took 1\.\d s|no answer within") as caught:
        found = [store.find(key_of(number)) for number in range(10)]
    assert found == [None] * 10
    assert (len(caught), len(server.asked)) == (1, 1)


PROGRAM = """
from tests.support.stores import entry_of, key_of
from triptych.artifact_store.remote import Remote
from triptych.artifact_store.store import Store
from triptych.artifact_store.transports import redis_cache

Store({folder!r}, remote=Remote({url!r}, writes=True, timeout={timeout})).publish(key_of(1), entry_of(1))
print("done")
"""


@pytest.mark.parametrize(
    ("status", "delay", "said"),
    [(403, 0.0, "PUT answered 403"), (0, 30.0, "not written within 0.5 s: 1 of"), (0, 0.0, "")],
)
def test_short_program_says_what_was_not_written(
    tmp_path: Path, server: Server, status: int, delay: float, said: str
) -> None:
    server.status, server.delay = status, delay
    program = PROGRAM.format(folder=str(tmp_path / "s"), url=server.url, timeout=0.5 if delay else 20.0)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "done\n"
    assert (said in done.stderr) if said else not done.stderr
