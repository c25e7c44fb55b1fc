"""Where the user's program is right now: the line and column being executed, and the calls that led there.

Only code that is being traced counts as the user's (it is registered here); hooks, languages and framework frames in
between are invisible. Regions cut out of a function are shown as part of it.
"""

from __future__ import annotations

import sys
from types import CodeType, FrameType
from typing import NamedTuple

from triptych.support.source import Span


class TracedCode(NamedTuple):
    """A registered code object: `root` is the code of the whole function it is a part of."""

    code: CodeType
    root: int
    function: str


_CODES: dict[int, TracedCode] = {}
"""By id: hashing a code object costs 300 ns, and registered code objects live as long as the process."""
_SPANS: dict[tuple[int, int], Span] = {}
_POSITIONS: dict[int, list[tuple[int | None, int | None, int | None, int | None]]] = {}


def register(code: CodeType) -> None:
    """Count frames of `code`, and of what is nested in it, as the user's."""
    _register(code, id(code), code.co_name)


def _register(code: CodeType, root: int, function: str) -> None:
    if id(code) in _CODES:
        return
    _CODES[id(code)] = TracedCode(code, root, function)
    for const in code.co_consts:
        if isinstance(const, CodeType):
            own = const.co_name != function and not const.co_name.startswith("<")
            _register(const, id(const) if own else root, const.co_name if own else function)


def is_registered(code: CodeType) -> bool:
    return id(code) in _CODES


def root_of(code: CodeType) -> int:
    """What a code object is a part of, as an identity: regions of one function have the same."""
    known = _CODES.get(id(code))
    return known.root if known is not None else id(code)


def chain(frame: FrameType | None = None) -> tuple[tuple[int, int], ...]:
    """The user's position as (code id, instruction) pairs, the innermost first: cheap, and a key for caches."""
    current: FrameType | None = frame or sys._getframe(1)
    found: list[tuple[int, int]] = []
    within = 0
    while current is not None:
        identity = id(current.f_code)
        traced = _CODES.get(identity)
        if traced is not None:
            if within != traced.root:
                found.append((identity, current.f_lasti))
                within = traced.root
            if identity == traced.root:
                within = 0
        current = current.f_back
    return tuple(found)


def spans(positions: tuple[tuple[int, int], ...]) -> tuple[Span, ...]:
    """The source spans of a chain, the innermost first."""
    return tuple(_span(*position) for position in positions)


def here() -> Span | None:
    """The innermost position in the user's program, if any is running."""
    positions = chain(sys._getframe(1))
    return _span(*positions[0]) if positions else None


def callers() -> tuple[Span, ...]:
    """The calls that led here, without the innermost position."""
    return spans(chain(sys._getframe(1))[1:])


def _span(identity: int, instruction: int) -> Span:
    known = _SPANS.get((identity, instruction))
    if known is None:
        traced = _CODES[identity]
        table = _POSITIONS.get(identity)
        if table is None:
            table = _POSITIONS[identity] = list(traced.code.co_positions())
        line, end_line, column, end_column = table[max(instruction, 0) // 2]
        known = Span(
            traced.code.co_filename,
            line or traced.code.co_firstlineno,
            column or 0,
            end_line,
            end_column,
            traced.function,
        )
        _SPANS[identity, instruction] = known
    return known
