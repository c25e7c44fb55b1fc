"""Frames of a stopped or failed thread, as any debugger of Python takes them: one for each function, with its values.

The innermost frame calls the debugger at the user's line, the others call the next one. All are code of a few
instructions whose file, line, name, globals and locals are those of the kernel; what they call is in their constants,
so that no name of theirs is among the user's.
"""

from __future__ import annotations

import ast
import ctypes
import linecache
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from types import CodeType, FrameType, TracebackType
from typing import Any

from triptych.metastage.debugger.breakpoints import SITES, StopFrame
from triptych.metastage.debugger.frame_values import Lane, as_it_was, lanes
from triptych.support.dataclass import dataclass
from triptych.targets.cpu.abi.abi import KERNEL_STOP_NUMBERS, LaunchRecord

_STOPS_AT_ONCE = sys.version_info >= (3, 13)
"""Whether `Pdb.set_trace` stops where it is called; before, at the next line, which a jump back makes the same one."""


class Session:
    """One visit of a debugger."""

    def __init__(self, frames: tuple[StopFrame, ...], lane: Lane) -> None:
        self._frames = frames
        self.locals: list[dict[str, Any]] = [
            {name: shown.show(lane) for name, shown in frame.names.items()} for frame in frames
        ]
        self._given = [dict(names) for names in self.locals]
        self._left: list[Any] = []
        """The trace function that the debugger has left."""
        self._real: list[FrameType] = []

    def run(self, hook: Callable[[], object]) -> int | None:
        """Let the debugger look; gives how deep the next stop may be at most, None for no further stop."""
        before = sys.gettrace()
        traced = _traced_frames(sys._getframe())
        self._left.clear()
        try:
            exec(*self._code(0, hook))
        finally:
            sys.settrace(before)
            for frame, function in traced:
                frame.f_trace = function
        wanted = self._left[0] if self._left else None
        return None if wanted is None or wanted is before else self._depth(wanted)

    def changed(self) -> list[str]:
        """Names that were assigned in the debugger."""
        pairs = zip(self.locals, self._given, strict=True)
        return [name for now, then in pairs for name in then if now.get(name) is not then[name]]

    def _depth(self, trace_function: Any) -> int | None:
        """Where a debugger of Python's own kind wants to stop next: in which function, or further out."""
        debugger = getattr(trace_function, "__self__", None)
        deepest = sys.maxsize
        frame = getattr(debugger, "stopframe", None)
        if frame is None:
            return deepest
        return next((i for i, real in enumerate(self._real) if real is frame), None)

    def _note(self) -> None:
        self._real.append(sys._getframe(1))

    def _code(self, depth: int, hook: Callable[[], object]) -> tuple[CodeType, dict[str, Any], dict[str, Any]]:
        """What `exec` takes to make the frame of a depth and all that are deeper."""
        frame = self._frames[depth]
        if depth + 1 < len(self._frames):
            called: list[Any] = [self._note, lambda: self._code(depth + 1, hook)]
            text = "_0(); exec(*_1())"
        else:
            calls, more = ([hook], [True]) if _STOPS_AT_ONCE else ([int, hook], [True, True])
            called = [self._note, [False, *more].pop, calls.pop, self._left.append, sys.gettrace, sys.settrace]
            text = "_0()\nwhile _1(): _2()()\n_3(_4()); _5(None)"
        return _compiled(text, frame, called), _globals(frame), self.locals[depth]


def _globals(frame: StopFrame) -> dict[str, Any]:
    """The module's names, and `lanes`, which shows a name in all threads of the warp."""
    return {"lanes": lanes, **frame.globals}


def _compiled(text: str, frame: StopFrame, called: list[Any]) -> CodeType:
    """Code at the line of a frame, whose names `_0`, `_1`, … are the given objects."""
    tree = ast.parse(text)
    marks = [f"\0triptych {i}" for i in range(len(called))]

    class Marking(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return ast.Constant(marks[int(node.id[1:])]) if node.id.startswith("_") else node

    tree = Marking().visit(tree)
    line = linecache.getline(frame.file, frame.line).rstrip()
    columns = len(line) - len(line.lstrip()), len(line.encode())  # all of it: a traceback then marks none of it
    for node in ast.walk(tree):
        node.lineno = node.end_lineno = frame.line - frame.first_line + 1  # type: ignore[attr-defined]
        node.col_offset, node.end_col_offset = columns  # type: ignore[attr-defined]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # a text is not called: it is replaced
        code = compile(tree, frame.file, "exec", dont_inherit=True)
    objects = dict(zip(marks, called, strict=True))
    constants = tuple(objects.get(c, c) if isinstance(c, str) else c for c in code.co_consts)
    code = code.replace(co_name=frame.function, co_qualname=frame.function, co_consts=constants)
    return code.replace(co_firstlineno=frame.first_line)  # lines count from there


def _traced_frames(frame: FrameType | None) -> list[tuple[FrameType, Any]]:
    """The frames that led here, with their trace functions, which a debugger replaces."""
    found = []
    while frame is not None:
        found.append((frame, frame.f_trace))
        frame = frame.f_back
    return found


def raised_in(frames: list[tuple[StopFrame, dict[str, Any]]], error: BaseException) -> TracebackType | None:
    """The traceback of an error that is raised in the innermost of such frames."""

    def code(depth: int) -> tuple[CodeType, dict[str, Any], dict[str, Any]]:
        frame, names = frames[depth]
        if depth + 1 < len(frames):
            return _compiled("exec(*_0())", frame, [lambda: code(depth + 1)]), _globals(frame), names
        return _compiled("raise _0", frame, [error]), _globals(frame), names

    try:
        exec(*code(0))
    except BaseException as raised:
        return raised.__traceback__
    return None


# Lanes of a stopped warp: the words that each has stored, and memory of the process as far as it can be read.

_WORD = 8


@dataclass(frozen=True, slots=True)
class StoppedWarp:
    """What a stop says of its warp."""

    memory: int
    stride: int
    active: int
    first: int
    width: int
    block: tuple[int, int, int]
    shape: tuple[int, int, int]

    @classmethod
    def at(cls, numbers: int) -> StoppedWarp:
        """Of the numbers that compiled code has written."""
        found = list((ctypes.c_int64 * KERNEL_STOP_NUMBERS).from_address(numbers))
        memory, stride, active, first, width, *rest = found
        x, y, z, *shape = rest
        return cls(memory, stride, active & (1 << width) - 1, first, width, (x, y, z), (shape[0], shape[1], shape[2]))

    @property
    def threads(self) -> Sequence[StoppedThread]:
        """Those that exist."""
        count = min(self.width, prod(self.shape) - self.first)
        return [self.thread(lane) for lane in range(count)]

    def thread(self, lane: int) -> StoppedThread:
        return StoppedThread(self, lane, self.first + lane, bool(self.active >> lane & 1))

    def coordinate(self, thread: int) -> tuple[int, int, int]:
        """The index of a thread by its number."""
        rows, x = divmod(thread, self.shape[0])
        z, y = divmod(rows, self.shape[1])
        return x, y, z


@dataclass(slots=True)
class StoppedThread:
    """One of them."""

    of: StoppedWarp
    lane: int
    thread: int
    active: bool

    def word(self, slot: int) -> int:
        """A word that it has kept."""
        return int(ctypes.c_uint64.from_address(self.of.memory + slot * self.of.stride + self.lane * _WORD).value)

    def read(self, address: int, size: int) -> bytes | None:
        """Memory; None where nothing is mapped, which a plain read would end the process at."""
        file = _own_memory()
        if file is None:
            return ctypes.string_at(address, size)
        try:
            found = os.pread(file, size, address)
        except (OSError, OverflowError):
            return None
        return found if len(found) == size else None

    def warp(self) -> Sequence[Any]:
        """The threads beside it."""
        return self.of.threads


@cache
def _own_memory() -> int | None:
    """The process's memory as a file, which refuses where memory itself would fault; Linux has one."""
    try:
        return os.open("/proc/self/mem", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


# Post-mortem frames: a thread that fails a check in a debugger build adds its frames to the traceback.
#
# Input: the thread's last stop, while its memory is there. Output: an exception whose innermost frames are the
# kernel's, with the values that the thread had, so that post-mortem debuggers open there.

_Frames = list[tuple[StopFrame, dict[str, Any]]]
_FAILED: dict[int, _Frames] = {}
"""By launch, until its error is raised."""


def remember(launch: int, number: int, numbers: int) -> None:
    """Keep the frames of the thread that has failed; of another warp than the one that stopped last, there are none."""
    record, warp, site = LaunchRecord.from_address(launch), StoppedWarp.at(numbers), SITES[number]
    *block, thread = record.where
    lane = thread - warp.first
    if tuple(block) == warp.block and 0 <= lane < warp.width:
        stopped = warp.thread(lane)
        _FAILED[launch] = [
            (frame, {name: as_it_was(shown.show(stopped)) for name, shown in frame.names.items()})
            for frame in site.frames
        ]


def with_frames(launch: int, error: BaseException) -> BaseException:
    """The error as one that the kernel's frames have raised, if they are known."""
    frames = _FAILED.pop(launch, None)
    if not frames:
        return error
    return error.with_traceback(_traceback(error, frames))


def _traceback(error: BaseException, frames: _Frames) -> TracebackType | None:
    """The entries of the kernel's frames alone."""
    files = {frame.file for frame, _ in frames}
    found = raised_in(frames, error)
    while found is not None and found.tb_frame.f_code.co_filename not in files:
        found = found.tb_next
    return found
