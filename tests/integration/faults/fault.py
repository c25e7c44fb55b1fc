"""A program that goes wrong in one way: what it raises, at which line, and in which thread of which block."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triptych.support.errors import TriptychError

Dimensions = tuple[int, int, int]
_PLACE = re.compile(r"^ *--> (?P<file>.*):(?P<line>\d+):\d+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Fault:
    """`line` is a text of the Python line that the error points at."""

    call: Callable[[], Any]
    error: type[TriptychError]
    line: str
    block: Dimensions | None = None
    thread: Dimensions | None = None
    always: bool = True
    """Whether every build finds it, not only the debug build."""

    @property
    def name(self) -> str:
        return self.call.__name__


def pointed_line(error: Exception) -> str:
    """The source line that an error points at first."""
    found = _PLACE.search(str(error))
    assert found is not None, f"no place in {error}"
    return Path(found["file"]).read_text(encoding="utf-8").splitlines()[int(found["line"]) - 1]


def note(block: Dimensions, thread: Dimensions) -> str:
    """How an error says in which thread it happened."""
    return f"= note: in block {block}, thread {thread}"
