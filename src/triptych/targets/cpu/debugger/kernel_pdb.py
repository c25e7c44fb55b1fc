"""Python's own debugger, for a thread of a kernel: its stack is the user's, and Ctrl-C ends the launch."""

from __future__ import annotations

import pdb  # noqa: T100 - to build a debugger
import sys
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from triptych.support.tracebacks import is_framework

if TYPE_CHECKING:
    from pdb import Pdb
else:
    Pdb = next(cls for cls in pdb.Pdb.__mro__ if cls.__module__ == "pdb")  # notebooks put another in its place


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
