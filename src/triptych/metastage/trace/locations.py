"""Source locations of the trace: the line and column being executed, and the calls that led there.

Only code that is being traced counts as the user's (it is registered here); hooks, languages and framework frames in
between are invisible. Regions cut out of a function are shown as part of it.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import TypeVar

from triptych.support.source import Span

F = TypeVar("F", bound=Callable[..., object])


class TracedCode:
    """A registered code object: `root` is the code of the whole function it is a part of."""

    __slots__ = ("_code", "_positions", "_spans", "function", "rewritten", "root")

    def __init__(self, code: CodeType, root: int, function: str, rewritten: bool = True) -> None:
        identity = id(code)
        self._code = weakref.ref(code, lambda _: CODES.pop(identity, None))
        self._positions: list[tuple[int | None, int | None, int | None, int | None]] = []
        self._spans: dict[int, Span] = {}
        self.root = root
        self.function = function
        self.rewritten = rewritten

    def span(self, instruction: int) -> Span:
        """Where the instruction was written."""
        known = self._spans.get(instruction)
        if known is None:
            known = self._spans[instruction] = self._find(instruction)
        return known

    def _find(self, instruction: int) -> Span:
        code = self._code()
        assert code is not None, "code that runs is alive"
        if not self._positions:
            self._positions = list(code.co_positions())
        line, end_line, column, end_column = self._positions[max(instruction, 0) // 2]
        first = line or code.co_firstlineno
        return Span(code.co_filename, first, column or 0, end_line, end_column, self.function)


CODES: dict[int, TracedCode] = {}
"""By id, as long as the code lives: hashing a code object costs 300 ns."""
_FLOORS: set[int] = set()
_DEVICE_FLOORS: set[int] = set()


def register(code: CodeType, rewritten: bool = True) -> None:
    """Count frames of `code`, and of what is nested in it, as the user's."""
    _register(code, id(code), code.co_name, rewritten)


def _register(code: CodeType, root: int, function: str, rewritten: bool) -> None:
    if id(code) in CODES:
        return
    CODES[id(code)] = TracedCode(code, root, function, rewritten)
    for const in code.co_consts:
        if isinstance(const, CodeType):
            own = const.co_name != function and not const.co_name.startswith("<")
            _register(const, id(const) if own else root, const.co_name if own else function, rewritten)


def is_rewritten(code: CodeType) -> bool:
    """Whether the code is rewritten, on its own or as a part of the function that defines it."""
    known = CODES.get(id(code))
    return known is not None and known.rewritten


def is_program(code: CodeType) -> bool:
    """Whether code belongs to a program that is or was traced."""
    return id(code) in CODES


def root_of(code: CodeType) -> int:
    """What a code object is a part of, as an identity: regions of one function have the same."""
    known = CODES.get(id(code))
    return known.root if known is not None else id(code)


def name_of(code: CodeType) -> str:
    """The function that a code object is a part of."""
    known = CODES.get(id(code))
    return known.function if known is not None else code.co_name


def floor(function: F) -> F:
    """Decorates what starts a trace: nothing below its frames belongs to the program that is traced."""
    assert isinstance(function, FunctionType), "it decorates functions"
    _FLOORS.add(id(function.__code__))
    return function


def is_floor(code: CodeType) -> bool:
    """Whether it is the code of what starts a trace."""
    return id(code) in _FLOORS


def device_floor(function: F) -> F:
    """Decorates what traces a kernel: what is below its frames belongs to the host."""
    assert isinstance(function, FunctionType), "it decorates functions"
    _DEVICE_FLOORS.add(id(function.__code__))
    return function


def functions(frame: FrameType | None) -> Iterator[list[FrameType]]:
    """The frames of each function of the kernel that is being traced, the innermost first: its regions' and its own."""
    group: list[FrameType] = []
    within = 0
    while frame is not None and id(frame.f_code) not in _FLOORS | _DEVICE_FLOORS:
        traced = CODES.get(id(frame.f_code))
        if traced is not None:
            if group and within != traced.root:
                yield group
                group = []
            within = traced.root
            group.append(frame)
            if id(frame.f_code) == traced.root:
                yield group
                group = []
        frame = frame.f_back
    if group:
        yield group


def user_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of the user's program: `frame` itself or one that led to it."""
    while frame is not None and id(frame.f_code) not in CODES:
        frame = frame.f_back
    return frame


def chain(frame: FrameType | None) -> tuple[tuple[int, int], ...]:
    """The user's position as (code id, instruction) pairs, the innermost first."""
    found: list[tuple[int, int]] = []
    within = 0
    while frame is not None:
        identity = id(frame.f_code)
        if identity in _FLOORS:
            break
        traced = CODES.get(identity)
        if traced is not None:
            if within != traced.root:
                found.append((identity, frame.f_lasti))
                within = traced.root
            if identity == traced.root:
                within = 0
        frame = frame.f_back
    return tuple(found)


def spans(positions: tuple[tuple[int, int], ...]) -> tuple[Span, ...]:
    """The source spans of a chain, the innermost first."""
    return tuple(_span(*position) for position in positions)


def span_of(frame: FrameType) -> Span:
    """Where a frame of the user's program is."""
    return _span(id(frame.f_code), frame.f_lasti)


def current_span() -> Span | None:
    """The innermost position in the user's program, if any is running."""
    frame = user_frame(sys._getframe(1))
    return _span(id(frame.f_code), frame.f_lasti) if frame is not None else None


def innermost(traceback: TracebackType | None) -> Span | None:
    """The innermost position in the user's program of an exception."""
    found = None
    while traceback is not None:
        if id(traceback.tb_frame.f_code) in CODES:
            found = id(traceback.tb_frame.f_code), traceback.tb_lasti
        traceback = traceback.tb_next
    return _span(*found) if found is not None else None


def last_return(code: CodeType) -> Span:
    """Where a function returns: for errors about its value, found when it has been left."""
    return TracedCode(code, id(code), code.co_name).span(2 * len(list(code.co_positions())) - 2)


def callers() -> tuple[Span, ...]:
    """The calls that led here, without the innermost position."""
    return spans(chain(sys._getframe(1))[1:])


def _span(identity: int, instruction: int) -> Span:
    return CODES[identity].span(instruction)
