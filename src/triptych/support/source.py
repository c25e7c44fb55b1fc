"""Source spans: where in the user's file something was written.

Every error, every traced operation and every rewritten statement points at a `Span`.
"""

from __future__ import annotations

import linecache

from triptych.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a user's file. Lines count from 1, columns from 0 (as in `ast`); `end_*` may be unknown."""

    file: str
    line: int
    column: int = 0
    end_line: int | None = None
    end_column: int | None = None
    function: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column + 1}"

    def text(self) -> str:
        """The source line the span starts on, without its newline; empty when the file cannot be read."""
        return linecache.getline(self.file, self.line).rstrip("\n")
