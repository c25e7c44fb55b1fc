"""What `triptych run` tells while a program takes long, and at its end: lines on stderr.

A thread looks twice a second at what is compiled, which kernel runs and where the program itself is. The first line
comes when something has taken two seconds, the next when it has taken twice as long, so that hours fill no screen.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TextIO

from triptych.support import timeline
from triptych.support.timeline import Moment

LONG = 2.0
"""Seconds after which something is told."""
_LOOK = 0.5
_POOL = "triptych.targets.cpu.runtime.pool"
_COMPILED = "compile "


class RunProgress:
    """What a program is at, and what it has done so far."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._started = time.monotonic()
        self._seen: dict[str, float] = {}
        """When each thing was first seen."""
        self._told: dict[str, float] = {}
        """After how many seconds each was told last."""
        self.is_over = False
        self.compiled = 0
        self.compile_seconds = 0.0

    def listen(self, moment: Moment) -> None:
        """Count compilations."""
        if moment.kind == timeline.STAGE and moment.name.startswith(_COMPILED):
            self.compiled += 1
            self.compile_seconds += (moment.end - moment.begin) / 1e9

    def look(self, clock: float) -> None:
        """Tell what has taken long; forget what is over."""
        doing = dict(_doing() or [_own_line()])
        self._seen = {what: self._seen.get(what, clock) for what in doing}
        self._told = {what: last for what, last in self._told.items() if what in self._seen}
        for what, since in self._seen.items():
            passed = clock - since
            if passed >= LONG and passed >= 2 * self._told.get(what, 0.0):
                self._told[what] = passed
                print(f"triptych: {doing[what]}, {passed:.0f} s", file=self._stream, flush=True)

    def totals(self) -> str:
        """The line at the end."""
        launches = sum(count for _, _, count in _launches())
        parts = [f"compiled {_counted(self.compiled, 'function')} in {self.compile_seconds:.1f} s"]
        parts += [_counted(launches, "launch", "launches"), f"{time.monotonic() - self._started:.1f} s in all"]
        return f"triptych: {', '.join(parts)}"


@contextmanager
def telling() -> Iterator[None]:
    """Inside, what takes long is told; at the end, the totals."""
    told = RunProgress(sys.stderr)

    def watch() -> None:
        while not told.is_over:
            told.look(time.monotonic())
            time.sleep(_LOOK)

    timeline.LISTENERS.append(told.listen)
    threading.Thread(target=watch, name="triptych run", daemon=True).start()
    try:
        yield
    finally:
        told.is_over = True
        timeline.LISTENERS.remove(told.listen)
        print(told.totals(), file=sys.stderr, flush=True)


def _doing() -> list[tuple[str, str]]:
    """Compilations and launches that are under way, and what to say of each."""
    found = [(name, name) for name, _ in list(timeline.UNDERWAY.values())]
    for kernel, blocks, count in _launches():
        if kernel:
            units = "clusters" if " in clusters of " in kernel else "blocks"
            found.append((kernel, f"running {kernel}, {blocks:,} {units} (launch {count:,})"))
    return found


def _own_line() -> tuple[str, str]:
    """Where the program's own Python is, when it compiles and launches nothing."""
    frame: FrameType | None = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None and frame.f_globals.get("__name__") != "__main__":
        frame = frame.f_back
    where = "" if frame is None or frame.f_back is None else f" at {frame.f_code.co_filename}:{frame.f_lineno}"
    return where, f"the program itself{where}: no kernel is compiled or runs"


def _launches() -> list[tuple[str, int, int]]:
    """Of the pools, if there is one yet."""
    pool = sys.modules.get(_POOL)
    return [] if pool is None else pool.latest_launches()


def _counted(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
