"""CHECK lines: what a text must contain, in order, written as comments beside what makes the text.

    # CHECK: scf.for              found after the previous match
    # CHECK-NEXT: arith.addi      on the line after the previous match
    # CHECK-NOT: scf.if           nowhere between the matches around it
    # CHECK-COUNT-4: arith.addi   as many times, one after the other

`{{...}}` in a pattern is a regular expression; runs of blanks match any blanks. The names and their meaning are those
of LLVM's FileCheck.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal["CHECK", "CHECK-NEXT", "CHECK-NOT", "CHECK-COUNT"]

_DIRECTIVE = re.compile(r"^\s*#\s*(CHECK[A-Z-]*?)(?:-(\d+))?:[ \t]*(.*?)[ \t]*$")
_REGULAR = re.compile(r"\{\{(.+?)\}\}")


@dataclass(frozen=True, slots=True)
class Directive:
    """One CHECK line: `line` is where it stands in the source."""

    kind: Kind
    pattern: str
    line: int
    count: int = 1

    def regular_expression(self) -> re.Pattern[str]:
        """The pattern compiled: everything literal except `{{...}}` and the amount of blanks."""
        pieces = _REGULAR.split(self.pattern)
        literal = (r"\s+".join(map(re.escape, re.split(r"[ \t]+", piece))) for piece in pieces[::2])
        regular = (f"(?:{piece})" for piece in pieces[1::2])
        return re.compile("".join(piece for pair in _alternating(literal, regular) for piece in pair))

    def __str__(self) -> str:
        name = f"{self.kind}-{self.count}" if self.kind == "CHECK-COUNT" else self.kind
        return f"line {self.line}: {name}: {self.pattern}"


class CheckFailedError(AssertionError):
    """A text does not contain what a CHECK line says."""

    def __init__(self, directive: Directive, problem: str, text: str, position: int) -> None:
        line = text.count("\n", 0, position)
        shown = "\n".join(f"{'->' if i == line else '  '} {each}" for i, each in enumerate(text.splitlines()))
        super().__init__(f"{directive}\n{problem}\n{shown}")
        self.directive = directive


def directives(source: str) -> list[Directive]:
    """The CHECK lines of a Python source, in order."""
    found = []
    for number, line in enumerate(source.splitlines(), start=1):
        match = _DIRECTIVE.match(line)
        if match is not None:
            found.append(_directive(match[1], match[2], match[3], number))
    if not found:
        raise ValueError("there are no CHECK lines")
    return found


def _directive(kind: str, count: str | None, pattern: str, line: int) -> Directive:
    if kind not in get_args(Kind) or (kind == "CHECK-COUNT") != (count is not None) or not pattern:
        raise ValueError(f"line {line} is not a CHECK line: {kind}")
    return Directive(kind, pattern, line, int(count or 1))  # type: ignore[arg-type]


def check(text: str, expected: Sequence[Directive]) -> None:
    """Raise at the first directive that `text` does not fulfil."""
    position = 0
    absent: list[Directive] = []
    for directive in expected:
        if directive.kind == "CHECK-NOT":
            absent.append(directive)
            continue
        for _ in range(directive.count):
            start, end = _find(text, directive, position)
            _refuse(text, absent, position, start)
            absent, position = [], end
    _refuse(text, absent, position, len(text))


def _find(text: str, directive: Directive, position: int) -> tuple[int, int]:
    match = directive.regular_expression().search(text, position)
    if match is None:
        raise CheckFailedError(directive, "not found after the marked line", text, position)
    if directive.kind == "CHECK-NEXT" and text.count("\n", position, match.start()) != 1:
        raise CheckFailedError(directive, "not on the line after the marked one", text, position)
    return match.span()


def _refuse(text: str, absent: Sequence[Directive], start: int, end: int) -> None:
    for directive in absent:
        match = directive.regular_expression().search(text, start, end)
        if match is not None:
            raise CheckFailedError(directive, "found on the marked line", text, match.start())


def _alternating(literal: Iterator[str], regular: Iterator[str]) -> Iterator[tuple[str, str]]:
    for piece in literal:
        yield piece, next(regular, "")
