"""Fork safety: locks that threads of the parent hold, and that nobody will release for the child.

A fork copies one thread, and every lock as it is. Short work that would leave a library half done (an import, a link)
is waited for: `Brief`. Long work is its own process's affair: `PerProcess`.

Sub-interpreters are refused: compiled code is the main interpreter's. NumPy and the bindings of MLIR and LLVM keep
their state once for a process, and refuse to load in a second interpreter or share objects with the first; signal
handlers are the main one's alone. So a sub-interpreter is told in words, before any of them is loaded.
"""

from __future__ import annotations

import importlib
import os
from _thread import RLock
from functools import cached_property
from types import ModuleType
from typing import Any, Self, TypeVar, overload

from triptych.support import interrupts
from triptych.support.errors import TriptychError


class SubinterpreterError(TriptychError, RuntimeError):
    """Triptych was used in a sub-interpreter, where neither NumPy nor the compiler's libraries can be loaded."""

    code = "TT0736"


def check_interpreter(number: int) -> None:
    """Refuse every interpreter of a process but its first."""
    if number:
        raise SubinterpreterError(
            "Triptych works in the main interpreter of a process only",
            found=f"sub-interpreter {number}",
            expected="the main interpreter: NumPy, MLIR and LLVM load once in a process",
            instead="a process (`multiprocessing`, `ProcessPoolExecutor`), or threads of the main interpreter: "
            "compiled code runs in all of them at the same time",
        )


T = TypeVar("T")


class Brief:
    """A lock for short work, which forks wait for."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = RLock()
        let_forks_wait_for(self._lock)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class PerProcess:
    """A lock for long work. A forked child has one of its own, whoever holds the parent's."""

    __slots__ = ("_locks",)

    def __init__(self) -> None:
        self._locks: dict[int, Any] = {}

    def here(self) -> Any:
        """The lock of this process: `with lock.here():`, which releases what it took also in a child forked inside."""
        # One call of C, so that two threads that come first get the same lock.
        return self._locks.setdefault(_FORKS[0], RLock())


class lazy(cached_property[T]):
    """`functools.cached_property` without the lock that all instances share until Python 3.12, forked children too."""

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...
    def __get__(self, instance: object, owner: type[Any] | None = None) -> Any:
        if instance is None:
            return self
        value = instance.__dict__[self.attrname or ""] = self.func(instance)
        return value


_FORKS = [0]
"""How many forks led to this process."""
_WAITED_FOR: list[Any] = [RLock(), interrupts.LOCK]
"""The first one is held by nobody else: it keeps forks of several threads apart."""
_HELD: list[Any] = []
"""Locks that the fork under way has taken."""


def let_forks_wait_for(lock: object) -> None:
    """A reentrant lock of this package or of a library it uses."""
    _WAITED_FOR.append(lock)


def _number_of_interpreter() -> int:
    """0 in the main one, and where Python has no others."""
    for name in ("_interpreters", "_xxsubinterpreters"):  # from 3.13 on, and before
        try:
            current: Any = importlib.import_module(name).get_current()
        except ImportError:
            continue
        return int(current[0] if isinstance(current, tuple) else current)
    return 0


_IMPORTING = Brief()
_INTERPRETER = _number_of_interpreter()
_REFUSAL = "triptych.support.forking"


def import_late(module: str) -> ModuleType:
    """Import where a name is first used. A child cannot import what a thread of its parent is importing at the fork."""
    if _INTERPRETER:
        importlib.import_module(_REFUSAL).check_interpreter(_INTERPRETER)
    with _IMPORTING:
        found = interrupts.defer_signals(lambda: importlib.import_module(module))
    interrupts.check_signals()
    return found


def _before() -> None:
    """Take all locks. Nobody waits for one while holding another: the order in which others take them is unknown."""
    first = _WAITED_FOR[0]
    while True:
        first.acquire()
        taken = [first]
        for lock in _WAITED_FOR:
            if not lock.acquire(blocking=False):
                break
            taken.append(lock)
        else:
            _HELD.extend(taken)
            return
        for held in reversed(taken):
            held.release()
        first = lock


def _after() -> None:
    held = _HELD.copy()
    _HELD.clear()
    for lock in reversed(held):
        lock.release()


def _after_in_child() -> None:
    _FORKS[0] += 1
    _after()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after_in_child)
