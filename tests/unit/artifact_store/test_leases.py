"""Single flight: threads and processes that need the same entry make it once, whoever is killed meanwhile."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.stores import entry_of, events, key_of, kinds, store_in
from triptych.artifact_store import leases

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def in_child(work: Callable[[], object]) -> int:
    """Fork, do `work` there; the process. Ends with 0 if all went well."""
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
        os._exit(0)
    except BaseException:
        os._exit(1)


def ended(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def claim_files(folder: Path) -> list[str]:
    return sorted(os.listdir(folder / "claims"))


def test_threads_make_an_entry_once(tmp_path: Path) -> None:
    store = store_in(tmp_path / "s")
    made: list[int] = []
    results: list[object] = []

    def need() -> None:
        found = store.find(key_of(1))
        if found is None:
            with store.flight(key_of(1)):
                found = store.find(key_of(1))
                if found is None:
                    time.sleep(0.05)
                    made.append(1)
                    found = entry_of(1)
                    store.publish(key_of(1), found)
        results.append(found)

    threads = [threading.Thread(target=need) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]
    assert results == [entry_of(1)] * 8
    assert claim_files(tmp_path / "s") == []


def test_flights_of_different_keys_do_not_wait_for_one_another(tmp_path: Path) -> None:
    store = store_in(tmp_path / "s", patience=30)
    began = time.monotonic()
    with store.flight(key_of(1)), store.flight(key_of(2)), store.flight(key_of(1)):
        assert claim_files(tmp_path / "s") == sorted([key_of(1), key_of(2)])
    assert time.monotonic() - began < 10
    assert claim_files(tmp_path / "s") == []


def test_waiting_is_bounded_and_said(tmp_path: Path) -> None:
    store = store_in(tmp_path / "s", patience=0.2)
    entered = threading.Event()
    leave = threading.Event()

    def hold() -> None:
        with store.flight(key_of(1)):
            entered.set()
            leave.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    entered.wait(30)
    began = time.monotonic()
    with events() as seen, store.flight(key_of(1)):
        waited = time.monotonic() - began
    leave.set()
    holder.join()
    assert 0.2 <= waited < 30
    assert kinds(seen) == ["wait"]


def test_error_in_a_flight_ends_it(tmp_path: Path) -> None:
    store = store_in(tmp_path / "s", patience=30)
    with pytest.raises(ArithmeticError), store.flight(key_of(1)):
        raise ArithmeticError
    assert claim_files(tmp_path / "s") == []
    assert leases._HELD == {}


def test_claim_of_a_killed_process_is_free(tmp_path: Path) -> None:
    store = store_in(tmp_path / "s", patience=30)

    def hold() -> None:
        with store.flight(key_of(1)):
            (tmp_path / "holds").touch()
            time.sleep(60)

    pid = in_child(hold)
    while not (tmp_path / "holds").exists():
        time.sleep(0.005)
    began = time.monotonic()
    threading.Timer(0.2, os.kill, (pid, signal.SIGKILL)).start()
    with store.flight(key_of(1)):
        assert 0.1 < time.monotonic() - began < 10
    assert ended(pid) == -signal.SIGKILL
    assert claim_files(tmp_path / "s") == []


def test_claims_of_killed_processes_do_not_pile_up(tmp_path: Path) -> None:
    store = store_in(tmp_path / "s")

    def die() -> None:
        flights = [store.flight(key_of(number)) for number in range(100)]
        for flight in flights:
            flight.__enter__()
        os.kill(os.getpid(), signal.SIGKILL)

    assert ended(in_child(die)) == -signal.SIGKILL
    assert len(claim_files(tmp_path / "s")) == 100
    with store.flight(key_of(200)):
        assert claim_files(tmp_path / "s") == [key_of(200)]
    assert ended(in_child(die)) == -signal.SIGKILL
    with store.flight(key_of(1)):
        store.prune(0)
        assert claim_files(tmp_path / "s") == [key_of(1)]


def test_child_that_is_forked_in_a_flight_owns_nothing(tmp_path: Path) -> None:
    """It must not let go of its parent's claim, nor keep it when the parent has ended."""
    store = store_in(tmp_path / "s", patience=0.1)
    inside = store.flight(key_of(1))
    inside.__enter__()

    def child() -> None:
        inside.__exit__(None, None, None)
        assert claim_files(tmp_path / "s") == [key_of(1)]
        with events() as seen, store.flight(key_of(1)):
            assert kinds(seen) == ["wait"]  # given up: the parent has it

    assert ended(in_child(child)) == 0
    assert claim_files(tmp_path / "s") == [key_of(1)]
    outliving = in_child(lambda: time.sleep(60))
    try:
        inside.__exit__(None, None, None)
        with events() as seen, store.flight(key_of(1)):
            assert kinds(seen) == []
    finally:
        os.kill(outliving, signal.SIGKILL)
        ended(outliving)


def test_child_does_not_keep_the_claim_of_a_killed_parent(tmp_path: Path) -> None:
    store = store_in(tmp_path / "s", patience=20)

    def parent() -> None:
        with store.flight(key_of(1)):
            grandchild = in_child(lambda: time.sleep(60))
            (tmp_path / "pid.new").write_text(str(grandchild))
            (tmp_path / "pid.new").rename(tmp_path / "pid")
            time.sleep(60)

    pid = in_child(parent)
    while not (tmp_path / "pid").exists():
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    ended(pid)
    began = time.monotonic()
    with store.flight(key_of(1)):
        assert time.monotonic() - began < 10
    with suppress(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


def most_at_once(folder: Path) -> int:
    """How many of four threads were in one flight at a time."""
    store = store_in(folder)
    inside: list[int] = []
    most: list[int] = []

    def need() -> None:
        with store.flight(key_of(1)):
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.01)
            inside.pop()

    threads = [threading.Thread(target=need) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert leases._HELD == {}
    return max(most)


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_where_files_cannot_be_locked_claims_hold_in_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert most_at_once(tmp_path / "s") == 1


def test_where_there_can_be_no_files_claims_hold_in_the_process(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert most_at_once(tmp_path / "file" / "s") == 1
