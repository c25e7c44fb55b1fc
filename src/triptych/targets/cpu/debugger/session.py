"""Debugger session of a thread at a breakpoint: whether it stops, and what the debugger wants next.

Threads of a warp arrive together. A `breakpoint()` stops the first of those that are active; `n` and `s` follow that
thread, and TRIPTYCH_BREAK names one. While a debugger is open all others wait: blocks run one after the other, on the
thread that launched.
"""

from __future__ import annotations

import bdb
import pdb  # noqa: T100 - to build a debugger
import sys
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from triptych.metastage.debugger.breakpoints import REACHED, SITES, StopSite, break_place
from triptych.support.config import config
from triptych.support.forking import PerProcess
from triptych.support.tracebacks import is_framework
from triptych.targets.cpu.debugger.asking import check_answers, chosen_debugger, is_switched_off
from triptych.targets.cpu.debugger.frames import Session
from triptych.targets.cpu.debugger.lanes import StoppedThread, StoppedWarp

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
