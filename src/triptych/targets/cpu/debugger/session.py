"""Debugger session of a thread at a breakpoint: whether it stops, and what the debugger wants next.

Threads of a warp arrive together. A `breakpoint()` stops the first of those that are active; `n` and `s` follow that
thread, and TRIPTYCH_BREAK names one. While a debugger is open all others wait: blocks run one after the other, on the
thread that launched.
"""

from __future__ import annotations

import bdb
import builtins
import os
import pdb  # noqa: T100 - to build a debugger, and to ask which one it is
import select
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import BuiltinFunctionType, FrameType, TracebackType
from typing import TYPE_CHECKING, Any, TextIO

from triptych.diagnostics.runtime_errors import NobodyAnswersError
from triptych.metastage.debugger.breakpoints import REACHED, SITES, StopSite, break_place
from triptych.support.config import config, process_environment
from triptych.support.dataclass import dataclass
from triptych.support.forking import PerProcess
from triptych.support.source import Span
from triptych.support.tracebacks import is_framework
from triptych.targets.cpu.debugger.frames import Session, StoppedThread, StoppedWarp

# Interactive input: whether anybody can answer a debugger, as nobody does in a job without a terminal.

_PATIENCE = 1.0
"""Seconds in which whoever writes to a pipe has begun to."""


def chosen_debugger() -> Callable[[], object] | None:
    """The debugger that the program, or what runs it, has chosen; None for Python's."""
    if process_environment().get("PYTHONBREAKPOINT"):
        return sys.breakpointhook
    if sys.breakpointhook is not sys.__breakpointhook__ and not _waits_for_a_client():
        return sys.breakpointhook
    return pdb.set_trace if _is_of_pytest() else None


def _is_of_pytest() -> bool:
    """Whether pytest has put its own in the place of Python's: it stops capturing first."""
    return pdb.set_trace.__module__.startswith("_pytest")


def _waits_for_a_client() -> bool:
    """Whether the debugger is that of an editor which is not there: notebooks load it, and it stops nobody."""
    if not str(getattr(sys.breakpointhook, "__module__", "")).startswith("debugpy"):
        return False
    editors = sys.modules.get("debugpy")
    return editors is None or not editors.is_client_connected()


def is_switched_off() -> bool:
    """Whether Python is told to pass over breakpoints."""
    return process_environment().get("PYTHONBREAKPOINT") == "0" and sys.breakpointhook is sys.__breakpointhook__


def check_answers(span: Span) -> None:
    """Refuse to stop where nobody can answer."""
    chosen = chosen_debugger()
    if chosen is pdb.set_trace:
        with _reading():
            found = _answers(sys.__stdin__)
    else:
        found = chosen is not None or _answers(sys.stdin)
    if found:
        return
    raise NobodyAnswersError(
        "a thread of a kernel stops for the debugger, and nobody can answer it",
        span=span,
        found="a standard input that is no terminal, and that has nothing to read",
        expected="a terminal, a notebook, a file of commands, or a debugger of your own",
        instead="run it in a terminal, or with commands: `python program.py < commands.txt`; PYTHONBREAKPOINT=0 passes "
        "over breakpoints, and without `break` in TRIPTYCH_DEBUG they are not compiled",
    )


@contextmanager
def _reading() -> Iterator[None]:
    """Standard input as pytest was given it: while it captures, the null device stands there."""
    plugins = getattr(getattr(pdb.set_trace, "__self__", None), "_pluginmanager", None)
    capturing = plugins.getplugin("capturemanager") if plugins is not None else None
    if capturing is not None:
        capturing.suspend_global_capture(in_=True)
    try:
        yield
    finally:
        if capturing is not None:
            capturing.resume_global_capture()


def _answers(given: TextIO | None) -> bool:
    if not isinstance(builtins.input, BuiltinFunctionType):  # a notebook's, which asks its page
        return True
    if given is None or given.closed:
        return False
    try:
        number = given.fileno()
    except (OSError, ValueError):  # an object of the program, which reads from somewhere else
        return True
    if os.isatty(number) or stat.S_ISREG(os.fstat(number).st_mode):
        return True
    if stat.S_ISCHR(os.fstat(number).st_mode):  # the null device
        return False
    if not _ANSWERED and _ready(number):
        _ANSWERED.append(True)
    return bool(_ANSWERED)


_ANSWERED: list[bool] = []
"""Not empty once a pipe has had something to read: the rest of it may be in Python's own buffer by then."""


def _ready(number: int) -> bool:
    if not hasattr(select, "poll"):
        return False
    asked = select.poll()
    asked.register(number, select.POLLIN)
    return any(events & select.POLLIN for _, events in asked.poll(_PATIENCE * 1000))


if TYPE_CHECKING:
    from pdb import Pdb
else:
    Pdb = next(cls for cls in pdb.Pdb.__mro__ if cls.__module__ == "pdb")  # notebooks put another in its place


# Python's own debugger, for a thread of a kernel: its stack is the user's, and Ctrl-C ends the launch.


class KernelPdb(Pdb):
    """A debugger that opens in a frame of a kernel."""

    def __init__(self, header: str) -> None:
        super().__init__(nosigint=True)  # an interrupt of a kernel that runs is the launch's, not the debugger's
        self._header = header
        self.interrupted = False

    def open(self) -> None:
        """Stop in the frame that calls."""
        self.set_trace(sys._getframe(1))

    def get_stack(self, f: FrameType | None, t: TracebackType | None) -> tuple[list[tuple[FrameType, int]], int]:
        """The user's frames: those of the kernel, and the host's that launched it."""
        stack, current = super().get_stack(f, t)
        kept = [entry for entry in stack if not is_framework(entry[0])]
        here = stack[current] if stack else None
        return (kept, kept.index(here)) if here in kept else (stack, current)

    # Any: what Python's versions of it take.
    def interaction(self, *given: Any, **more: Any) -> None:
        if self._header:
            self.message(self._header)
        super().interaction(*given, **more)

    def cmdloop(self, intro: Any = None) -> None:
        try:
            super().cmdloop(intro)
        except KeyboardInterrupt:
            self.interrupted = True
            self.set_quit()


_ONE_AT_A_TIME = PerProcess()


@dataclass(frozen=True, slots=True)
class Followed:
    """A thread whose next statement is to stop, in a function at most so deep."""

    launch: int
    block: tuple[int, int, int]
    thread: int
    depth: int


class SessionState:
    """What this process follows."""

    followed: Followed | None = None
    last: tuple[int, tuple[int, int, int], int] | None = None
    """The thread that stopped last, whose place need not be said again."""
    done: tuple[int, str] | None = None
    """The launch in which a place without a thread has stopped somebody."""


def arrived(launch: int, number: int, numbers: int) -> None:
    """Threads of a launch have come to a site."""
    with _ONE_AT_A_TIME.here():
        site, warp = SITES[number], StoppedWarp.at(numbers)
        thread = _who(launch, site, warp)
        if thread is not None and not is_switched_off():
            _open(launch, site, thread)


def _who(launch: int, site: StopSite, warp: StoppedWarp) -> StoppedThread | None:
    """The thread that stops, if one does."""
    followed = SessionState.followed
    if followed is not None and (followed.launch, followed.block) == (launch, warp.block):
        lane = followed.thread - warp.first
        here = 0 <= lane < warp.width and warp.active >> lane & 1
        if here and len(site.frames) - 1 <= followed.depth:
            return warp.thread(lane)
    place = break_place(config().break_)
    if place is not None and place.is_at(site.here.file, site.here.line):
        wanted = [t for t in warp.threads if t.active and place.names(warp.block, warp.coordinate(t.thread), t.thread)]
        if wanted and (place.thread is not None or SessionState.done != (launch, config().break_)):
            SessionState.done = launch, config().break_
            REACHED.add(config().break_)
            return wanted[0]
    if site.is_breakpoint:
        return next(thread for thread in warp.threads if thread.active)
    return None


def _open(launch: int, site: StopSite, thread: StoppedThread) -> None:
    """Open the debugger; what it wants next is armed."""
    warp = thread.of
    check_answers(site.here.span)
    where = launch, warp.block, thread.thread
    place = f"kernel {site.kernel}: block {warp.block}, thread {warp.coordinate(thread.thread)}"
    debugger = KernelPdb("" if SessionState.last == where else place)
    SessionState.last = where
    session = Session(site.frames, thread)
    try:
        depth = session.run(chosen_debugger() or debugger.open)
    except bdb.BdbQuit:
        SessionState.followed = None
        if debugger.interrupted:
            raise KeyboardInterrupt from None
        raise
    for name in session.changed():
        print(f"note: {name} is what it was: values of a kernel can be looked at, not changed", file=sys.stderr)
    SessionState.followed = None if depth is None else Followed(launch, warp.block, thread.thread, depth)
    arm(SessionState.followed is not None)


def arm(everything: bool) -> None:
    """Which places ask from now on: all, breakpoints, or those that TRIPTYCH_BREAK names."""
    place = break_place(config().break_)
    for site in SITES:
        named = place is not None and place.is_at(site.here.file, site.here.line)
        site.armed.value = int(everything or site.is_breakpoint or named)
