"""Inline PTX, text -> statements: declarations of registers, scopes and instructions with their operands.

Only the form is read here. What an instruction means, and whether its operands fit, is asked later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

from triptych.support.dataclass import dataclass

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_GUARD = re.compile(r"@(!?)\s*([%$\w]+)\s+(.*)", re.DOTALL)
_COUNTED = re.compile(r"([%$\w]+)<(\d+)>")
_LABEL = re.compile(r"[%$\w]+:(?!:)")
_OPENING, _CLOSING = "{[(", "}])"
_ELEMENTS = {".v2": "xy", ".v4": "xyzw"}


class MalformedPtxError(ValueError):
    """The text has not the form of PTX; whoever asked knows the line of the program."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """`@guard opcode operands;`"""

    opcode: str
    operands: tuple[str, ...] = ()
    guard: str = ""
    negated: bool = False

    @property
    def name(self) -> str:
        """The first word of the opcode."""
        return self.opcode.partition(".")[0]

    @property
    def marks(self) -> tuple[str, ...]:
        """The other words of the opcode."""
        return tuple(self.opcode.split(".")[1:])

    def __str__(self) -> str:
        return f"{self.opcode} {', '.join(self.operands)}".strip()


@dataclass(frozen=True, slots=True)
class Declaration:
    """`.reg .kind names;`"""

    kind: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scope:
    """A brace: names that are declared inside end with it."""

    opens: bool


Statement: TypeAlias = Instruction | Declaration | Scope


def statements(text: str) -> list[Statement]:
    """All of a text, in order. `$$` is LLVM's way to write `$`, which no operand of an instruction needs."""
    found: list[Statement] = []
    vectors: dict[str, str] = {}
    depth = 0
    for part in _parts(_COMMENT.sub(" ", text)):
        if part in ("{", "}"):
            depth += 1 if part == "{" else -1
            if depth < 0:
                raise MalformedPtxError("a `}` that closes nothing")
            found.append(Scope(part == "{"))
        elif part.startswith(".reg"):
            found.append(_declaration(part, vectors))
        else:
            found.append(_instruction(part, vectors))
    if depth:
        raise MalformedPtxError("a `{` that nothing closes")
    return found


def _parts(text: str) -> Iterator[str]:
    """Braces around statements, and the text of each statement."""
    start = 0
    depth = 0
    for at, letter in enumerate(text):
        pending = text[start:at].strip()
        if letter in "{}" and not pending and not depth:
            yield letter
            start = at + 1
        elif letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            depth -= 1
        elif letter == ";" and not depth:
            if pending:
                yield pending
            start = at + 1
    if rest := text[start:].strip():
        raise MalformedPtxError(f"`{rest}` does not end with `;`")


def _declaration(text: str, vectors: dict[str, str]) -> Declaration:
    """A vector `v` is registers `v.x`, `v.y` …; `vectors` gets the operand that it stands for."""
    words = text.split(None, 2)
    elements = _ELEMENTS.get(words[1]) if len(words) == 3 else None
    if elements:
        words = [words[0], *words[2].split(None, 1)]
    if len(words) != 3 or words[0] != ".reg" or not words[1].startswith("."):
        raise MalformedPtxError(f"`{text}` is not `.reg .type name`")
    names = [name for part in split(words[2]) for name in _counted(part)]
    if elements:
        vectors |= {name: f"{{{', '.join(f'{name}.{each}' for each in elements)}}}" for name in names}
        names = [f"{name}.{each}" for name in names for each in elements]
    return Declaration(words[1][1:], tuple(names))


def _counted(name: str) -> Iterator[str]:
    """`r<3>` declares r0, r1 and r2."""
    found = _COUNTED.fullmatch(name)
    if found is None:
        yield name
    else:
        yield from (f"{found[1]}{number}" for number in range(int(found[2])))


def _instruction(text: str, vectors: dict[str, str]) -> Instruction:
    if _LABEL.match(text):
        return Instruction(text.partition(":")[0] + ":")
    guard, negated = "", False
    if found := _GUARD.match(text):
        negated, guard, text = bool(found[1]), found[2], found[3]
    opcode, *operands = text.split(None, 1)
    written = (vectors.get(operand, operand) for operand in split(" ".join(operands)))
    return Instruction(opcode, tuple(written), guard, negated)


def split(text: str) -> list[str]:
    """What stands between commas that are in no braces or brackets."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        if letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            depth -= 1
        elif letter == "," and not depth:
            parts.append(text[start:at])
            start = at + 1
    return [part.strip() for part in (*parts, text[start:]) if part.strip()]


def listed(operand: str) -> list[str]:
    """The parts of `{a, b}` or of `a|b`, or the operand alone."""
    if operand.startswith("{"):
        return split(operand[1:-1])
    return [part.strip() for part in operand.split("|")]
