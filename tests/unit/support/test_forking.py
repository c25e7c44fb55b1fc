"""Locks across forks."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass

import pytest

from triptych.support.forking import Brief, PerProcess, lazy

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


def status_of_child(task: object) -> int:
    """0 when the task is true in a forked child, which has a minute."""
    child = os.fork()
    if child == 0:
        os._exit(0 if callable(task) and task() else 1)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return -1


def test_a_child_has_a_lock_of_its_own() -> None:
    lock, held, go_on = PerProcess(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock.here():
            held.set()
            go_on.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(30)
    try:
        assert status_of_child(lambda: lock.here().acquire(timeout=5)) == 0
        assert not lock.here().acquire(blocking=False)
    finally:
        go_on.set()
        thread.join()


def test_a_child_that_is_forked_inside_releases_what_it_took() -> None:
    lock = PerProcess()

    def leave() -> bool:
        with lock.here():
            pass
        return True

    with lock.here():
        status = status_of_child(leave)
    assert status == 0


def test_a_fork_waits_for_short_work() -> None:
    first, second, held = Brief(), Brief(), threading.Event()
    done: list[int] = []

    def hold() -> None:
        with second:
            held.set()
            time.sleep(0.2)
            with first:  # the other way round than forks
                done.append(1)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(30)
    assert status_of_child(lambda: bool(done)) == 0
    thread.join()


@dataclass(frozen=True)
class Square:
    side: int

    @lazy
    def area(self) -> int:
        COMPUTED.append(self.side)
        return self.side**2


COMPUTED: list[int] = []


def test_what_is_computed_once() -> None:
    square = Square(3)
    assert (square.area, square.area, Square(4).area) == (9, 9, 16)
    assert COMPUTED == [3, 4]
    assert isinstance(Square.area, lazy)
