"""Breakpoint setting TRIPTYCH_BREAK: a line of a kernel, and perhaps a block and a thread, that stop there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePath

_TEXT = re.compile(r"(?P<file>.+):(?P<line>\d+)(@(?P<block>\d+|\([^)]*\)),(?P<thread>\d+|\([^)]*\)))?")

Index = int | tuple[int, ...]
Triple = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class BreakPlace:
    """A number counts threads, or blocks along x; a tuple is an index."""

    file: str
    line: int
    block: Index | None = None
    thread: Index | None = None

    def is_at(self, file: str, line: int) -> bool:
        """Whether a statement is at the line; the end of the file's path is enough."""
        return line == self.line and self.is_in(file)

    def is_in(self, file: str) -> bool:
        """Whether a path, or the end of one, names a file."""
        wanted = PurePath(self.file).parts
        return PurePath(file).parts[-len(wanted) :] == wanted

    def names(self, block: Triple, thread: Triple, number: int) -> bool:
        """Whether a thread is the one, if one is named."""
        if self.block is None or self.thread is None:
            return True
        if isinstance(self.thread, int):
            return number == self.thread and _index(self.block) == block
        return _index(self.thread) == thread and _index(self.block) == block


@lru_cache
def break_place(text: str) -> BreakPlace | None:
    """Of the setting; None for none."""
    found = _TEXT.fullmatch(text)
    if found is None:
        return None
    return BreakPlace(found["file"], int(found["line"]), _parsed(found["block"]), _parsed(found["thread"]))


def _parsed(text: str | None) -> Index | None:
    if text is None:
        return None
    return int(text) if text.isdigit() else tuple(int(part) for part in text.strip("()").split(","))


def _index(given: Index) -> tuple[int, ...]:
    return (given, 0, 0) if isinstance(given, int) else (*given, 0)[:3]
