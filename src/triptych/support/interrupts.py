"""Signal handling while the compiler runs: Ctrl-C is raised in the user's code, or where the compiler can be left.

Python runs signal handlers between any two instructions. What they raise would be lost in a callback of a native
library, or leave a context or a table half changed. So in `defer_signals` a signal that finds Python in the compiler's
own code waits: it is asked again, a few instructions later and a few milliseconds later, until it finds the user's code
or a function marked `interruptible`.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from types import CodeType, FrameType, FunctionType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

PERIOD = 0.005
"""Seconds after which a signal that waits is asked again."""
STEPS = 200
"""Instructions after which it is asked each time, one after the other: they take half a millisecond."""

_OWN = __name__.partition(".")[0]
_NOT_TO_BE_LEFT = frozenset({"importlib._bootstrap", "weakref", "_weakrefset"})
"""Half a native module is not importable, and what is raised when an object goes, as in `__del__`, is only printed."""
_BORROWED = frozenset({*sys.stdlib_module_names, "torch_mlir", "llvmlite", "tvm_ffi", "coverage"})
"""Packages whose frames belong to whoever called them, or is traced by them."""
_interrupt_main: Callable[[int], None] = _thread.interrupt_main  # type: ignore[assignment]  # of any signal
_SIGNALS = tuple(signal.valid_signals() - {getattr(signal, "SIGKILL", 0), getattr(signal, "SIGSTOP", 0)})
_INTERRUPTIBLE: set[int] = set()
"""Identities of code objects; they live as long as the functions that are marked."""

LOCK = threading.RLock()
"""Of all that follows: threads ask, and only the main thread answers."""
_HELD: list[int] = []
"""The signals that are being held."""
_HANDLERS: dict[int, Any] = {}
"""Their own handlers. They stay known: the user's code may keep ours and set it again later."""
_WAITING: dict[int, int] = {}
"""Signals that have not arrived yet, and how many more times they are asked at once."""
_ASKED: set[int] = set()
"""Signals that have been let come again, and have not yet."""
_RETURNED: set[int] = set()
"""Signals whose handlers are being given back."""


def interruptible(function: F) -> F:
    """Mark what may be left at any instruction of its own, and of what it calls outside the compiler."""
    assert isinstance(function, FunctionType), "it decorates functions"
    _mark(function.__code__)
    return function


def _mark(code: CodeType) -> None:
    """Comprehensions and generator expressions are code of their own."""
    _INTERRUPTIBLE.add(id(code))
    for const in code.co_consts:
        if isinstance(const, CodeType):
            _mark(const)


@interruptible
def check_signals() -> None:
    """Let what waits arrive here: a place between two long steps."""
    for number in list(_WAITING):
        with LOCK:
            _ASKED.add(number)
        _interrupt_main(number)


def defer_signals(work: Callable[[], T]) -> T:
    """Do work of the compiler. Other threads than the main one run no handlers, so there is nothing to hold."""
    if threading.current_thread() is not threading.main_thread() or _HELD:
        return work()
    try:
        _hold()
        return work()
    finally:
        _release()


def _hold() -> None:
    for number in _SIGNALS:
        handler = signal.getsignal(number)
        if callable(handler):
            _AGAIN.setdefault(number, _coming_again(number))
            if handler is not _handle:
                _HANDLERS[number] = handler
            _HELD.append(number)
            signal.signal(number, _handle)


def _release() -> None:
    """Give the handlers back, and let what still waits arrive."""
    try:
        while _HELD:
            number = _HELD[-1]
            with LOCK:
                waits = _WAITING.pop(number, None) is not None
                _RETURNED.add(number)
            if signal.getsignal(number) is _handle:  # not so when the user's code has set one meanwhile
                signal.signal(number, _HANDLERS[number])  # which first handles, as before, what has come again
            waits = _WAITING.pop(number, None) is not None or waits
            _RETURNED.discard(number)
            _HELD.pop()
            if waits:
                _deliver(number, sys._getframe())
    finally:
        if _HELD:
            _release()


def _handle(number: int, frame: FrameType | None) -> object:
    with LOCK:
        genuine = number not in _ASKED
        _ASKED.discard(number)
        if number in _RETURNED:
            if genuine:
                _WAITING[number] = 0
            return None
        if not _may_arrive(frame):
            return _wait(number)
        _WAITING.pop(number, None)
    return _deliver(number, frame)


def _deliver(number: int, frame: FrameType | None) -> object:
    return _HANDLERS[number](number, frame)


def _wait(number: int) -> object:
    if number not in _WAITING:
        _WAITING[number] = STEPS
        _thread.start_new_thread(_ask, (number,))
    _WAITING[number] -= 1
    if _WAITING[number] < 0:
        return None
    _ASKED.add(number)
    return _AGAIN[number]()


def _coming_again(number: int) -> type:
    """A class whose instance, when it goes, lets a signal come again.

    A handler that did so itself would be interrupted by it. What it returns goes when it has ended.
    """
    return type("ComingAgain", (), {"__del__": staticmethod(partial(_interrupt_main, number))})


_AGAIN: dict[int, type] = {}


def _ask(number: int) -> None:
    """The life of a thread: let a signal come again now and then until it has arrived."""
    while number in _WAITING:
        time.sleep(PERIOD)
        with LOCK:
            if number in _WAITING and number not in _ASKED:
                _WAITING[number] = STEPS
                _ASKED.add(number)
                _interrupt_main(number)


def _may_arrive(frame: FrameType | None) -> bool:
    """Whether what runs down from the compiler's innermost frame is the user's, or that frame may be left."""
    is_users = False
    while frame is not None:
        module = _module(frame)
        package = module.partition(".")[0]
        if module in _NOT_TO_BE_LEFT or frame.f_code.co_name == "__del__":
            return False
        if package == _OWN:
            return (is_users and not _is_bookkeeping(frame)) or id(frame.f_code) in _INTERRUPTIBLE
        is_users = is_users or package not in _BORROWED
        frame = frame.f_back
    return True


def _is_bookkeeping(frame: FrameType) -> bool:
    """Whether it is of this module and calls nobody: what runs below it is a tracer, which finds handlers half set."""
    return frame.f_globals is globals() and frame.f_code not in (defer_signals.__code__, _deliver.__code__)


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__"))


_MAIN = [threading.main_thread().ident]


def _release_in_child() -> None:
    """After a fork by another thread: the one that holds does not exist here, and what waited is the parent's."""
    _WAITING.clear()
    _ASKED.clear()
    if [threading.get_ident()] != _MAIN:
        _MAIN[:] = [threading.get_ident()]
        _release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_release_in_child)
