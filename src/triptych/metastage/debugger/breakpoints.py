"""Breakpoints of kernels: where TRIPTYCH_BREAK sets them, the sites that this process has compiled, and what is said
of a line where no thread can stop.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache
from pathlib import PurePath
from typing import Any

from triptych.diagnostics.runtime_errors import BreakPlaceError
from triptych.metastage.debugger.frame_values import Shown
from triptych.support.config import config
from triptych.support.dataclass import dataclass
from triptych.support.source import Span
from triptych.support.wording import nearest


@dataclass(frozen=True, slots=True)
class StopFrame:
    """A function of the kernel where it stands at a stop."""

    function: str
    span: Span
    """The statement that is about to run."""
    first_line: int
    last_line: int
    globals: dict[str, Any]
    names: Mapping[str, Shown]

    @property
    def file(self) -> str:
        return self.span.file

    @property
    def line(self) -> int:
        return self.span.line


@dataclass(frozen=True, slots=True, eq=False)
class StopSite:
    """A place; the outermost function, the kernel itself, is the first frame."""

    number: int
    kernel: str
    frames: tuple[StopFrame, ...]
    is_breakpoint: bool
    armed: ctypes.c_uint8 = field(default_factory=ctypes.c_uint8)
    """Whether threads that come here ask Python."""

    @property
    def here(self) -> StopFrame:
        """The innermost frame."""
        return self.frames[-1]

    @property
    def switch(self) -> int:
        """The address of the byte that code reads."""
        return ctypes.addressof(self.armed)


SITES: list[StopSite] = []


def new_site(kernel: str, frames: tuple[StopFrame, ...], is_breakpoint: bool) -> StopSite:
    """Another place; a breakpoint asks always."""
    site = StopSite(len(SITES), kernel, frames, is_breakpoint)
    site.armed.value = int(is_breakpoint)
    SITES.append(site)
    return site


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


REACHED: set[str] = set()
"""Settings that have stopped a thread."""
_WATCHED: set[str] = set()


def check_break_place(first_site: int) -> None:
    """Refuse a line of the kernel just traced, whose places begin with that number, at which nothing stops."""
    text = config().break_
    place = break_place(text)
    if place is None:
        return
    _check_file(place)
    frames = [frame for site in SITES[first_site:] for frame in site.frames[-1:] if place.is_in(frame.file)]
    lines = {frame.line for frame in frames}
    around = [frame for frame in frames if frame.first_line <= place.line <= frame.last_line]
    if around and place.line not in lines:
        before = max((line for line in lines if line < place.line), default=min(lines))
        after = min((line for line in lines if line > place.line), default=max(lines))
        names = [f"{place.file}:{line}" for line in sorted({before, after})]
        raise BreakPlaceError(
            f"no statement of {around[0].function} begins at the line where a thread is to stop",
            found=f"TRIPTYCH_BREAK={text}",
            expected="the first line of a statement that the kernel has: what is decided while tracing leaves none",
            instead=f"TRIPTYCH_BREAK={' or '.join(names)}",
        )
    if text not in _WATCHED:
        _WATCHED.add(text)
        atexit.register(_tell_if_missed, text)


def _check_file(place: BreakPlace) -> None:
    loaded = {os.path.abspath(file) for module in list(sys.modules.values()) if (file := _file(module))}
    known = loaded | {frame.file for site in SITES for frame in site.frames}
    if os.path.exists(place.file) or any(place.is_in(file) for file in known):
        return
    names = sorted({os.path.basename(frame.file) for site in SITES for frame in site.frames})
    guess = nearest(os.path.basename(place.file), names) or (names[0] if names else None)
    raise BreakPlaceError(
        "there is no file of this name, so no thread can stop there",
        found=f"TRIPTYCH_BREAK={config().break_}",
        expected="a file of the program that has kernels, or the end of its path",
        instead=f"TRIPTYCH_BREAK={guess}:{place.line}" if guess else "",
    )


def _file(module: object) -> str:
    file = getattr(module, "__file__", None)
    return file if isinstance(file, str) else ""


def _tell_if_missed(text: str) -> None:
    if text not in REACHED:
        print(f"triptych: TRIPTYCH_BREAK={text}: no thread of a kernel came there", file=sys.stderr)
