"""Guards as words of memory: whether anything has changed, asked by comparing words, which calls no Python.

Input: guards, which say what was read as tests over objects. Output: the words of CPython's objects that change when a
test may turn out otherwise, with what is in them now. A word that has changed means only that the guards must be asked
again: another name of the same module may have been assigned. The words are in objects that guards keep alive, so who
compares needs no lock of the interpreter.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from types import CellType, FunctionType
from typing import Any

from triptych.driver.cache_misses import SealedError
from triptych.fingerprint.guards import Guard
from triptych.ir.llvm.loader import load_object
from triptych.ir.llvm.worker import Request
from triptych.support.config import OVERRIDES
from triptych.targets.cpu.export.llvm_lines import LlvmLines
from triptych.targets.cpu.runtime.kept_object import kept_object

_TYPE, _CELL_CONTENT, _LIST_SIZE, _DICT_VERSION = 8, 16, 16, 24
"""Where objects have their type, cells their content, lists their size, and dicts, up to Python 3.11, a number that
every change makes another one."""
_HAS_VERSIONS = sys.version_info < (3, 12)
_FUNCTION_WORDS = 16
_ATTRIBUTES = ("__code__", "__defaults__", "__kwdefaults__", "__annotations__")
_ATTRIBUTE = re.compile(rf"(\w+)\.({'|'.join(_ATTRIBUTES)}|__class__|cell_contents) (?:is|==) \w+")
_ENTRIES = re.compile(r"not (\w+)|len\((\w+)\) == \d+|(\w+)\[[^\[\]]+\] is \w+|'\w+' not in (\w+)|\[\*(\w+)\] == \w+")

_CHANGES, _NOTE = "triptych_changes", "triptych_note_change"
_TABLES = 64
"""How many stay: another thread may still compare one of before."""
Place = int
"""The address of a word."""


class GuardWords:
    """What native code compares: pairs of the address of a word and what it was, ended by a zero.

    `publish` gets the address of the pairs; 0 when `ask` has to be called each time.
    """

    def __init__(self, guards: Sequence[Guard], publish: Callable[[int], None]) -> None:
        self._guards = guards
        self._publish = publish
        self._words: list[int] = []
        self._tables: deque[Any] = deque(maxlen=_TABLES)
        self._has_words = _places(guards) is not None

    def ask(self) -> bool:
        """Whether all is as it was, and settings are those of the process. What it finds is what words are now."""
        places = _places(self._guards) if self._has_words else None
        words = [word for place in places or () for word in (place, _word(place))]
        if OVERRIDES or not all(guard() for guard in self._guards):
            return False
        if words != self._words:
            table = (ctypes.c_uint64 * (len(words) + 1))(*words, 0)
            self._publish(ctypes.addressof(table) if words else 0)
            self._words = words
            self._tables.append(table)
        return True


def _word(place: Place) -> int:
    return ctypes.c_uint64.from_address(place).value


def _places(guards: Iterable[Guard]) -> list[Place] | None:
    """The words that guards depend on; None where a test asks something else."""
    found: dict[Place, None] = {id(OVERRIDES) + _LIST_SIZE: None}
    for guard in guards:
        for test in guard.tests:
            places = _of_test(test, guard)
            if places is None:
                return None
            found |= dict.fromkeys(places)
    return [*found]


def _of_test(test: str, guard: Guard) -> list[Place] | None:
    if match := _ATTRIBUTE.fullmatch(test):
        return _of_attribute(guard.names[match[1]], match[2])
    if match := _ENTRIES.fullmatch(test):
        owner = guard.names[next(name for name in match.groups() if name)]
        return _of_dict(owner) if type(owner) is dict else None
    return None


def _of_attribute(owner: object, name: str) -> list[Place] | None:
    if name == "__class__":
        return [id(owner) + _TYPE]
    if name == "cell_contents":
        return [id(owner) + _CELL_CONTENT] if type(owner) is CellType else None
    if type(owner) is not FunctionType or name not in _function_offsets():
        return None
    place = id(owner) + _function_offsets()[name]
    if name != "__annotations__":
        return [place]
    entries = _of_dict(owner.__annotations__)
    return None if entries is None else [place, *entries]


def _of_dict(owner: dict[Any, Any]) -> list[Place] | None:
    if _HAS_VERSIONS:
        return [id(owner) + _DICT_VERSION]
    watcher = _watcher()
    if watcher is None:
        return None
    number, changes = watcher
    ctypes.pythonapi.PyDict_Watch(ctypes.c_int(number), ctypes.py_object(owner))
    return [changes]


@cache
def _watcher() -> tuple[int, int] | None:
    """The number of our watcher of dicts, and where it counts changes. None where guards have to be asked each time."""
    lines = LlvmLines()
    lines.set(f"atomicrmw add ptr @{_CHANGES}, i64 1 monotonic")
    lines.leave("i32 0")
    text = f"@{_CHANGES} = global i64 0" + lines.function(f"i32 @{_NOTE}(i32 %event, ptr %dict, ptr %key, ptr %value)")
    try:
        code = load_object(kept_object("watcher of dicts", Request(emit=("object",)), text), _NOTE, {}, _CHANGES)
        number = ctypes.pythonapi.PyDict_AddWatcher(ctypes.c_void_p(code.address))
    except (SealedError, RuntimeError):  # the store of a sealed process has none, or CPython has no number left
        return None
    _LOADED.append(code)
    return number, code.library[_CHANGES]


_LOADED: list[object] = []
"""Python calls the watcher as long as it lives."""


@cache
def _function_offsets() -> dict[str, int]:
    """Where function objects have their parts, which is found by looking at two that differ in all of them."""

    def first(a: int = 1, *, b: int = 2) -> None: ...
    def second(c: str = "", *, d: str = "") -> None: ...

    found = {}
    for name in _ATTRIBUTES:
        parts = [(id(getattr(f, name)), _function_words(f)) for f in (first, second)]  # annotations are made when asked
        places = [i for i in range(_FUNCTION_WORDS) if all(words[i] == part for part, words in parts)]
        if len(places) == 1:
            found[name] = 8 * places[0]
    return found


def _function_words(function: object) -> list[int]:
    return list((ctypes.c_uint64 * _FUNCTION_WORDS).from_address(id(function)))
