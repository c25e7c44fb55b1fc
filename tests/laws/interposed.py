"""What Python runs in between while a program is traced: ways to bring it about, each calling a function given to it.

A kind is a context manager. It arranges that `action` will be run, and gives what the traced program calls to make
that happen; where nothing has to be called, that is a function which does nothing.
"""

from __future__ import annotations

import codecs
import gc
import importlib.abc
import importlib.util
import logging
import signal
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

Action = Callable[[], None]
Kind = Callable[[Action], AbstractContextManager[Callable[[], Any]]]
KINDS: dict[str, Kind] = {}


def kind(function: Callable[[Action], Iterator[Callable[[], Any]]]) -> Callable[[Action], Any]:
    made = contextmanager(function)
    KINDS[function.__name__] = made
    return made


class Victim:
    """Something that goes when the program says so."""


def dropping(victims: list[Any]) -> Callable[[], Any]:
    """Drop what a list holds: a function of C, which the program calls."""
    return victims.clear


def nothing() -> None:
    """For what happens without a call."""


@kind
def signal_handler(action: Action) -> Iterator[Callable[[], Any]]:
    before = signal.signal(signal.SIGUSR1, lambda *_: action())
    try:
        yield lambda: signal.raise_signal(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)


@kind
def finalizer_method(action: Action) -> Iterator[Callable[[], Any]]:
    class Dying:
        def __del__(self) -> None:
            action()

    yield dropping([Dying()])


@kind
def weak_reference(action: Action) -> Iterator[Callable[[], Any]]:
    victim = Victim()
    reference = weakref.ref(victim, lambda _: action())
    victims = [victim]
    del victim
    yield dropping(victims)
    assert reference() is None


@kind
def finalize(action: Action) -> Iterator[Callable[[], Any]]:
    victim = Victim()
    weakref.finalize(victim, action)
    victims = [victim]
    del victim
    yield dropping(victims)


@kind
def generator_that_is_dropped(action: Action) -> Iterator[Callable[[], Any]]:
    def generate() -> Iterator[int]:
        try:
            yield 1
        finally:
            action()

    started = generate()
    next(started)
    victims = [started]
    del started
    yield dropping(victims)


@kind
def error_that_cannot_be_raised(action: Action) -> Iterator[Callable[[], Any]]:
    class Failing:
        def __del__(self) -> None:
            raise ValueError("on the way out")

    before, sys.unraisablehook = sys.unraisablehook, lambda _: action()
    try:
        yield dropping([Failing()])
    finally:
        sys.unraisablehook = before


@kind
def garbage_collection(action: Action) -> Iterator[Callable[[], Any]]:
    def collected(phase: str, _: object) -> None:
        if phase == "start":
            action()

    gc.callbacks.append(collected)
    try:
        yield gc.collect
    finally:
        gc.callbacks.remove(collected)


class Hook:
    """A hook for every event: it acts at the first one after the program has armed it, somewhere in the framework."""

    def __init__(self, action: Action) -> None:
        self._action = action
        self.armed: list[int] = []

    def __call__(self, *_: object) -> Any:
        if self.armed:
            self.armed.clear()
            self._action()
        return self

    def arm(self) -> None:
        self.armed.append(1)


@kind
def trace_hook(action: Action) -> Iterator[Callable[[], Any]]:
    before = sys.gettrace()
    hook = Hook(action)
    sys.settrace(hook)
    try:
        yield hook.arm
    finally:
        sys.settrace(before)


@kind
def profile_hook(action: Action) -> Iterator[Callable[[], Any]]:
    before = sys.getprofile()
    hook = Hook(action)
    sys.setprofile(hook)
    try:
        yield hook.arm
    finally:
        sys.setprofile(before)


if sys.version_info >= (3, 12):

    @kind
    def monitoring(action: Action) -> Iterator[Callable[[], Any]]:
        tool, events = sys.monitoring.PROFILER_ID, sys.monitoring.events
        sys.monitoring.use_tool_id(tool, "interposed")
        hook = Hook(action)
        sys.monitoring.register_callback(tool, events.PY_START, hook)
        sys.monitoring.set_events(tool, events.PY_START)
        try:
            yield hook.arm
        finally:
            sys.monitoring.set_events(tool, 0)
            sys.monitoring.free_tool_id(tool)


_AUDITED: list[Action] = []


def _audit(event: str, _: object) -> None:
    if event == "triptych.test" and _AUDITED:
        _AUDITED.pop()()


@cache
def _listen() -> None:
    sys.addaudithook(_audit)  # for good: Python has no way to take one back


@kind
def audit_hook(action: Action) -> Iterator[Callable[[], Any]]:
    _listen()
    _AUDITED.append(action)
    yield lambda: sys.audit("triptych.test")


@kind
def log_handler(action: Action) -> Iterator[Callable[[], Any]]:
    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            action()

    logger, handler = logging.getLogger("triptych.test"), Handler()
    logger.propagate = False
    logger.addHandler(handler)
    try:
        yield lambda: logger.warning("here")
    finally:
        logger.removeHandler(handler)


@kind
def log_filter(action: Action) -> Iterator[Callable[[], Any]]:
    def accept(_: logging.LogRecord) -> bool:
        action()
        return False

    logger = logging.getLogger("triptych.test")
    logger.addFilter(accept)
    try:
        yield lambda: logger.warning("here")
    finally:
        logger.removeFilter(accept)


@kind
def shown_warning(action: Action) -> Iterator[Callable[[], Any]]:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda *_, **__: action()
        yield lambda: warnings.warn("here", stacklevel=1)


@kind
def import_hook(action: Action) -> Iterator[Callable[[], Any]]:
    class Finder(importlib.abc.MetaPathFinder):
        def find_spec(self, name: str, path: object, target: object = None) -> None:
            if name == "triptych_test_missing":
                action()

    finder = Finder()

    def importing() -> None:
        assert importlib.util.find_spec("triptych_test_missing") is None

    sys.meta_path.insert(0, finder)
    try:
        yield importing
    finally:
        sys.meta_path.remove(finder)


@kind
def imported_module(action: Action) -> Iterator[Callable[[], Any]]:
    folder = Path(__file__).parent / "imported"
    sys.path.insert(0, str(folder))
    sys.modules["interposed_action"] = type(sys)("interposed_action")
    sys.modules["interposed_action"].action = action  # type: ignore[attr-defined]
    try:
        yield lambda: __import__("acting_module")
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("interposed_action")
        sys.modules.pop("acting_module", None)


@kind
def future_callback(action: Action) -> Iterator[Callable[[], Any]]:
    future: Future[int] = Future()
    future.add_done_callback(lambda _: action())
    yield lambda: future.set_result(1)


@kind
def thread_that_is_joined(action: Action) -> Iterator[Callable[[], Any]]:
    thread = threading.Thread(target=action)

    def run() -> None:
        thread.start()
        thread.join()

    yield run


@kind
def codec_error_handler(action: Action) -> Iterator[Callable[[], Any]]:
    def handle(error: Any) -> tuple[str, int]:
        action()
        return "?", error.end

    codecs.register_error("triptych.test", handle)
    yield lambda: "\u00e9".encode("ascii", "triptych.test")
