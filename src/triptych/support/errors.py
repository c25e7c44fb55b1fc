"""Error base classes: a code, a headline, the user's line, what was found, expected, and what to write.

Each class has two parents, `TriptychError` and the builtin a Python programmer would catch, and a docstring with its
reason; `diagnostics/catalogue` has a failing and a fixed program for each code (`docs/errors.md` is written from both).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, ClassVar

from triptych.support.render import render
from triptych.support.source import Span


class TriptychError(Exception):
    """Root of all errors raised by Triptych."""

    code: ClassVar[str] = "TT0000"

    def __init__(
        self,
        title: str,
        *,
        span: Span | None = None,
        found: str = "",
        expected: str = "",
        instead: str = "",
        notes: Sequence[str] = (),
        related: Sequence[tuple[str, Span]] = (),
    ) -> None:
        super().__init__(title)
        self.title = title
        self.span = span
        self.found = found
        self.expected = expected
        self.instead = instead
        self.notes = list(notes)
        self.related = list(related)

    def __str__(self) -> str:
        return self.text()

    def text(self, *, colours: bool = False) -> str:
        """What a person reads; with colours for a terminal."""
        return render(
            self.title,
            self.code,
            span=self.span,
            found=self.found,
            expected=self.expected,
            instead=self.instead,
            notes=self.notes,
            related=self.related,
            colours=colours,
        )

    def as_dict(self) -> dict[str, Any]:
        """Every fact as plain data, for editors, logs and JSON. Lines count from 1, columns from 0."""
        return {
            "code": self.code,
            "name": type(self).__name__,
            "title": self.title,
            "span": None if self.span is None else asdict(self.span),
            "found": self.found,
            "expected": self.expected,
            "instead": self.instead,
            "notes": list(self.notes),
            "related": [{"label": label, "span": asdict(span)} for label, span in self.related],
        }


def all_errors() -> list[type[TriptychError]]:
    """Every error class with a code, in code order (the catalogue and the contract tests read this)."""
    found: list[type[TriptychError]] = []
    pending = list(TriptychError.__subclasses__())
    while pending:
        cls = pending.pop()
        found.append(cls)
        pending += cls.__subclasses__()
    return sorted(found, key=lambda cls: cls.code)
