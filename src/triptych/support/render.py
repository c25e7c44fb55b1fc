"""Turning an error's facts into the text a person reads: location, caret, found / expected / write instead."""

from __future__ import annotations

import re
from collections.abc import Sequence

from triptych.support.source import Span

TAB_WIDTH = 4
_PLACE = re.compile(r"^( +)--> ", re.MULTILINE)


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
) -> str:
    """One error as text: the headline first, then the place, then what to do about it.

    The headline may be a text that was rendered before: what is added lines up with it.
    """
    lines = [f"[{code}] {title}"]
    rendered = _PLACE.search(title)
    margin = rendered[1] if rendered else _margin(span, *(place for _, place in related))
    if span is not None:
        lines += snippet(span, margin)
    for label, place in related:
        lines.append(f"{margin} = {label}:")
        lines += snippet(place, margin)
    lines += [f"{margin} = {name}: {text}" for name, text in _facts(found, expected, instead) if text]
    lines += [f"{margin} = note: {note}" for note in notes]
    return "\n".join(lines)


def _margin(*spans: Span | None) -> str:
    """As wide as the largest line number."""
    lines = (span.line for span in spans if span is not None)
    return " " * len(str(max(lines, default=0)))


def _facts(found: str, expected: str, instead: str) -> tuple[tuple[str, str], ...]:
    return (("found", found), ("expected", expected), ("write", instead))


def snippet(span: Span, margin: str = "") -> list[str]:
    """`--> file:line:column` and, when the file is readable, the line with a caret under the construct."""
    where = f" in {span.function}" if span.function else ""
    head = [f"{margin}--> {span}{where}"]
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
        f"{margin} | {' ' * start}{'^' * width}",
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
