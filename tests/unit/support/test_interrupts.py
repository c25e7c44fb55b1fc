"""Signals during work of the compiler: whose frames they find, and that each arrives once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from triptych.support.interrupts import defer_signals, interruptible


@pytest.fixture(autouse=True)
def _interrupts_are_handled() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def ours(function: Callable[..., Any]) -> Any:
    """The function as if it were the compiler's own."""
    made = types.FunctionType(
        function.__code__, {**globals(), "__name__": "triptych.somewhere"}, closure=function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.001)


def test_the_users_code_is_interrupted_at_once() -> None:
    reached = []

    def work() -> None:
        interrupt()
        reached.append(1)

    with pytest.raises(KeyboardInterrupt):
        defer_signals(work)
    assert not reached
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_compilers_code_is_not() -> None:
    reached = []

    def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        for i in range(1000):
            reached.append(i)

    with pytest.raises(KeyboardInterrupt):
        defer_signals(ours(work))
    assert len(reached) == 1000


def test_it_arrives_when_the_users_code_is_reached() -> None:
    reached: list[str] = []

    def user() -> None:
        reached.append("user")
        while True:
            time.sleep(0.001)

    def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        reached.append("compiler")
        user()
        reached.append("later")

    with pytest.raises(KeyboardInterrupt):
        defer_signals(ours(work))
    assert reached in (["compiler"], ["compiler", "user"])


def test_it_arrives_in_what_may_be_left() -> None:
    reached: list[str] = []

    def wait() -> None:
        lock = threading.Lock()
        lock.acquire()
        lock.acquire(timeout=20)
        reached.append("waited")

    marked = interruptible(ours(wait))

    def work() -> None:
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        marked()

    with pytest.raises(KeyboardInterrupt):
        defer_signals(ours(work))
    assert not reached


def test_it_arrives_in_no_callback_that_would_lose_it() -> None:
    calls: list[str] = []

    class Going:
        def __del__(self) -> None:
            interrupt()
            calls.append("going")

    def work() -> None:
        Going()
        time.sleep(0.1)
        calls.append("slept")

    with pytest.raises(KeyboardInterrupt):
        defer_signals(work)
    assert calls == ["going"]


def arrivals(delay: float) -> int:
    """How often an interrupt arrives that is sent some time after work has begun."""
    count = 0
    try:
        timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        defer_signals(ours(lambda: [sum(range(2000)) for _ in range(300)]))
        timer.join()
        time.sleep(0.002)
    except KeyboardInterrupt:
        count += 1
    try:
        time.sleep(0.012)  # one that came late, or again, comes here
    except KeyboardInterrupt:
        count += 1
    return count


def test_each_arrives_once() -> None:
    """In a process of its own: an interrupt that came at another time would end the tests."""
    program = f"from {__name__} import arrivals; print([arrivals(k * 0.0004) for k in range(60)])"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False)
    assert ran.stdout.strip() == str([1] * 60), ran.stderr


def test_other_signals_and_handlers_wait_as_well() -> None:
    class Stop(Exception):
        pass

    def stop(*_: object) -> None:
        raise Stop

    reached = []

    def work() -> None:
        os.kill(os.getpid(), signal.SIGUSR1)
        reached.append(1)

    before = signal.signal(signal.SIGUSR1, stop)
    try:
        with pytest.raises(Stop):
            defer_signals(ours(work))
        assert reached
        assert signal.getsignal(signal.SIGUSR1) is stop
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_it_arrives_in_no_tracer_before_the_handlers_are_given_back() -> None:
    """Coverage ran code of its own at the first call of a function: there, nothing had been given back."""

    def tracer(frame: types.FrameType, event: str, _: object) -> None:
        if frame.f_code.co_name == "_release" and not sent:
            sent.append(event)
            interrupt()

    sent: list[str] = []
    before = sys.gettrace()
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        try:
            sys.settrace(tracer)
            defer_signals(ours(lambda: None))
        finally:
            sys.settrace(before)
    assert sent == ["call"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_that_the_users_code_sets_stays() -> None:
    def handler(*_: object) -> None:
        """Nothing."""

    defer_signals(lambda: signal.signal(signal.SIGINT, handler))
    assert signal.getsignal(signal.SIGINT) is handler


def test_our_handler_set_again_later_still_works() -> None:
    kept: list[Any] = []
    defer_signals(lambda: kept.append(signal.getsignal(signal.SIGINT)))
    signal.signal(signal.SIGINT, kept[0])
    with pytest.raises(KeyboardInterrupt):
        interrupt()
    with pytest.raises(KeyboardInterrupt):
        defer_signals(interrupt)


def test_work_in_other_threads_and_inside_other_work() -> None:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(defer_signals(lambda: 1)))
    thread.start()
    thread.join()
    assert found == [1]
    assert defer_signals(lambda: defer_signals(lambda: 2)) == 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_of_the_work_is_an_error() -> None:
    def work() -> None:
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        defer_signals(work)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
