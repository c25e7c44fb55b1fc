"""Source texts that running code was compiled from, although their files may have been edited since.

A file that is older than the process is what Python imported. Of any other, each text that was seen is kept, and code
belongs to the one that compiles to it. Decorating a function looks at its file, so its text is there later.
"""

from __future__ import annotations

import ast
import linecache
import os
import sys
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from types import CodeType
from typing import Any, TypeAlias, TypeVar

from triptych.support.dataclass import dataclass
from triptych.support.errors import TriptychError
from triptych.support.forking import Brief

_DEEPEST = 10_000
"""Levels of a tree, in frames of Python; the parser takes three levels, some hundred bytes each, for a frame."""

_PARSING = Brief()


class TooDeepError(TriptychError, RecursionError):
    """A program nests deeper than the compiler, or Python's own stack, can follow."""

    code = "TT0104"


@contextmanager
def deep_trees() -> Iterator[None]:
    """Raise the limit, which all threads share, for one of them at a time; a fork waits until it is back."""
    with _PARSING:
        outside = sys.getrecursionlimit()
        sys.setrecursionlimit(max(outside, _DEEPEST))
        try:
            yield
        finally:
            sys.setrecursionlimit(outside)


_ATTEMPTS = 20

T = TypeVar("T")


def parse_module(text: str) -> ast.Module:
    """The tree of a file, or of some of its statements."""
    tree: ast.Module = _parsed(text, "exec")
    return tree


def parse_expression(text: str) -> ast.expr:
    """The tree of one expression."""
    tree: ast.Expression = _parsed(text, "eval")
    return tree.body


def compile_module(text: str, file: str, flags: int) -> CodeType:
    """The code of a file, as an import makes it."""
    code: CodeType = _attempted(lambda: compile(text, file, "exec", flags=flags, dont_inherit=True))
    return code


def _parsed(text: str, mode: str) -> Any:
    return _attempted(lambda: ast.parse(text, mode=mode))


def _attempted(parse: Callable[[], T]) -> T:
    for _ in range(_ATTEMPTS):
        try:
            with deep_trees():
                return parse()
        except SystemError as error:
            failure = error
    raise failure


FUTURE_FLAGS = annotations.compiler_flag
"""The bits of `co_flags` for `from __future__` features that still change what code means."""

_NO_NAME = "<string>"
"""What all code without a file is said to come from: since Python 3.13 the text of `python -c` is found under it."""

_Stamp: TypeAlias = tuple[int, ...] | None


@dataclass(slots=True)
class _Text:
    """A text that a file had, and what said that it is still the same."""

    lines: list[str]
    stamp: _Stamp
    compiled: dict[tuple[int, str], list[CodeType]] = field(default_factory=dict)

    def compiles_to(self, code: CodeType) -> bool:
        """Whether this text has a definition of exactly this code."""
        if not self.compiled:
            for found in _with_nested(_compiled("".join(self.lines), code)):
                self.compiled.setdefault((found.co_firstlineno, found.co_name), []).append(found)
        return code in self.compiled.get((code.co_firstlineno, code.co_name), ())


_TEXTS: dict[str, list[_Text]] = {}
_BY_CODE: dict[int, tuple[object, list[str]]] = {}
"""By address, while the code lives."""


def remember(code: CodeType, namespace: Mapping[str, Any]) -> None:
    """Keep the text that the file of some code has now."""
    _texts(code.co_filename, namespace)


def lines_of(code: CodeType, namespace: Mapping[str, Any]) -> list[str] | None:
    """The lines of the file as it was when `code` was compiled; none without a source, None when they are gone."""
    known = _BY_CODE.get(id(code))
    if known is not None:
        return known[1]
    lines = _find(code, _texts(code.co_filename, namespace))
    if lines:
        address = id(code)
        _BY_CODE[address] = (weakref.ref(code, lambda _: _BY_CODE.pop(address, None)), lines)
    return lines


def _find(code: CodeType, texts: list[_Text]) -> list[str] | None:
    if not texts:
        return []
    newest = texts[-1]
    if code.co_filename == _NO_NAME:
        return next((text.lines for text in reversed(texts) if text.compiles_to(code)), [])
    if len(texts) == 1 and (newest.stamp is None or newest.stamp[-1] < _STARTED):
        return newest.lines
    for text in reversed(texts):
        if text.compiles_to(code):
            return text.lines
    # What has no file (a cell of a notebook) cannot be edited; it may be compiled in a way of its own.
    return newest.lines if newest.stamp is None else None


def _texts(file: str, namespace: Mapping[str, Any]) -> list[_Text]:
    """All texts of a file that were seen, the present one last."""
    texts = _TEXTS.setdefault(file, [])
    stamp = _stamp(file)
    if texts and stamp is not None and texts[-1].stamp == stamp:
        return texts
    linecache.checkcache(file)
    lines = linecache.getlines(file, dict(namespace))
    if texts and texts[-1].lines == lines:
        texts[-1].stamp = stamp
    elif lines:
        texts.append(_Text(lines, stamp))
    return texts


def _stamp(file: str) -> _Stamp:
    """What changes with every edit. The time of the last change of status cannot be set back, as others can."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_size, found.st_ino, found.st_mtime_ns, found.st_ctime_ns


def _compiled(text: str, code: CodeType) -> CodeType | None:
    try:
        return compile_module(text, code.co_filename, code.co_flags & FUTURE_FLAGS)
    except (SyntaxError, ValueError):  # edited, and not finished
        return None


def _with_nested(code: CodeType | None) -> Iterator[CodeType]:
    for constant in () if code is None else code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _with_nested(constant)


def _process_start() -> int:
    """In nanoseconds since the epoch. Elsewhere than on Linux, when this module was imported: soon after."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        uptime = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, ValueError):
        uptime = 0.0
    return time.time_ns() - int(uptime * 1e9)


_STARTED = _process_start()
