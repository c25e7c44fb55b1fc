"""Error base classes: a code, a headline, the user's line, what was found, expected, and what to write.

Each class has two parents, `TriptychError` and the builtin a Python programmer would catch, and a docstring with its
reason; `diagnostics/catalogue` has a failing and a fixed program for each code (`docs/errors.md` is written from both).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, ClassVar

from triptych.support.source import Span

TAB_WIDTH = 4
_STYLES = {"title": "1", "code": "1;31", "place": "36", "caret": "1;31", "write": "32", "name": "1"}
"""What each part of a picture is in a terminal (codes of ECMA-48): bold, bold red, cyan, green."""

Paint = Callable[[str, str], str]
"""A text in the style of a part."""
HELP_COMMAND = "triptych errors"
"""Prints the page of a code, without a network."""


def render(
    title: str,
    code: str,
    *,
    span: Span | None = None,
    found: str = "",
    expected: str = "",
    instead: str = "",
    notes: Sequence[str] = (),
    related: Sequence[tuple[str, Span]] = (),
    colours: bool = False,
) -> str:
    """One error as text: the headline first, then the place, then what to do about it."""
    paint = _coloured if colours else _plain
    lines = [f"{paint('code', f'[{code}]')} {paint('title', title)}"]
    margin = _margin(span, *(place for _, place in related))
    if span is not None:
        lines += snippet(span, margin, paint)
    for label, place in related:
        lines.append(f"{margin} = {label}:")
        lines += snippet(place, margin, paint)
    for name, text in (("found", found), ("expected", expected), ("write", instead)):
        if text:
            lines.append(f"{margin} = {paint('name', name)}: {paint(name, text)}")
    lines += [f"{margin} = {paint('name', 'note')}: {note}" for note in notes]
    return "\n".join(lines)


def _plain(part: str, text: str) -> str:
    return text


def _coloured(part: str, text: str) -> str:
    return f"\033[{_STYLES[part]}m{text}\033[0m" if part in _STYLES else text


def _margin(*spans: Span | None) -> str:
    """As wide as the largest line number."""
    lines = (span.line for span in spans if span is not None)
    return " " * len(str(max(lines, default=0)))


def snippet(span: Span, margin: str = "", paint: Paint = _plain) -> list[str]:
    """`--> file:line:column` and, when the file is readable, the line with a caret under the construct."""
    where = f" in {span.function}" if span.function else ""
    head = [f"{margin}{paint('place', f'--> {span}')}{where}"]
    text = span.text()
    if not text.strip():
        return head
    margin = margin or " " * len(str(span.line))
    shown = text.expandtabs(TAB_WIDTH)
    start = len(text[: _characters(text, span.column)].expandtabs(TAB_WIDTH))
    width = _caret_width(text, span, len(shown) - start)
    return [
        *head,
        f"{margin} |",
        f"{span.line:>{len(margin)}} | {shown}",
        f"{margin} | {' ' * start}{paint('caret', '^' * width)}",
    ]


def _characters(text: str, byte_column: int) -> int:
    """`ast` counts columns in UTF-8 bytes; people and terminals count characters."""
    return len(text.encode()[:byte_column].decode(errors="ignore"))


def _caret_width(text: str, span: Span, room: int) -> int:
    if span.end_column is None:
        return 1
    if span.end_line is not None and span.end_line != span.line:
        return max(1, len(text.rstrip()) - _characters(text, span.column))
    return max(1, min(room, _characters(text, span.end_column) - _characters(text, span.column)))


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
        if more := self.more():
            self.add_note(more)

    where_is_help: ClassVar[Callable[[str], str]] = staticmethod(f"{HELP_COMMAND} {{}}".format)
    """Where the page of a code is; the settings, which are read above this file, replace it."""

    def more(self) -> str:
        """The line that ends what a terminal shows: where this error is explained.

        It is a note, which tracebacks print behind the message, and no part of the message: what programs compare and
        logs keep does not depend on a setting.
        """
        place = TriptychError.where_is_help(self.code)
        return f"{self._margin()} = more: {place}" if place else ""

    def _margin(self) -> str:
        return _margin(self.span, *(place for _, place in self.related))

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


class TriptychWarning(UserWarning):
    """Something works, but probably not as meant: a misspelt variable, a plug-in that cannot be loaded."""


class PerformanceWarning(TriptychWarning):
    """Something works, but slower than it could: registers do not suffice, or accesses to memory are narrow."""


class SlowTraceWarning(PerformanceWarning):
    """Compiling takes long because the program becomes long while it is traced."""
