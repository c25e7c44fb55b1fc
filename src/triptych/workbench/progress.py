"""Progress of a long command: a bar where somebody looks, else a line every few seconds.

The bar is that of `rich` (`pip install triptych[progress]`) and is drawn only on a terminal. Nothing of it goes to
stdout, which has only what the command says at its end.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Protocol, TextIO

from triptych.support.forking import import_late

EVERY = 3.0
"""Seconds between lines where there is no terminal."""
TICK = 0.25
"""Seconds after which whoever waits should call `tick`, so that time goes on where nothing is said."""


class Progress(Protocol):
    """What a command tells of its way."""

    def say(self, text: str, done: int | None = None, total: int | None = None, note: str = "") -> None:
        """What is being done, how many of how many are, and a note such as the best so far."""

    def tick(self) -> None:
        """Nothing new, but time has passed."""


@contextmanager
def progress(
    title: str, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
) -> Iterator[Progress]:
    """Progress on `stream` (stderr); it leaves nothing on a terminal when it is over."""
    stream = sys.stderr if stream is None else stream
    if not _is_terminal(stream) or importlib.util.find_spec("rich") is None:
        yield Lines(title, stream, clock)
        return
    bar = _Bar(title, stream)
    with bar.shown:
        yield bar


def seconds_left(done: int | None, total: int | None, passed: float) -> float | None:
    """By what each took so far; nothing is known before the first."""
    return passed / done * (total - done) if done and total and done <= total else None


class Lines:
    """A line every few seconds; a command that is over before says nothing."""

    def __init__(self, title: str, stream: TextIO, clock: Callable[[], float]) -> None:
        self._title, self._stream, self._clock = title, stream, clock
        self._started = self._last = clock()
        self._now = SimpleNamespace(text="starting", done=None, total=None, note="")

    def say(self, text: str, done: int | None = None, total: int | None = None, note: str = "") -> None:
        self._now = SimpleNamespace(text=text, done=done, total=total, note=note)
        self.tick()

    def tick(self) -> None:
        now = self._clock()
        if now - self._last < EVERY:
            return
        self._last = now
        print(self._line(now - self._started), file=self._stream, flush=True)

    def _line(self, passed: float) -> str:
        told = self._now
        parts = [f"{self._title}: {told.text}"]
        if told.total:
            parts.append(f"{told.done or 0} of {told.total}")
        parts += [told.note] if told.note else []
        left = seconds_left(told.done, told.total, passed)
        parts.append(f"{passed:.0f} s" + ("" if left is None else f", {left:.0f} s left"))
        return ", ".join(parts)


class _Bar:
    """A bar of rich, drawn when something is said: no thread of its own."""

    def __init__(self, title: str, stream: TextIO) -> None:
        drawn: Any = import_late("rich.progress")
        console = import_late("rich.console").Console(file=stream)
        self.shown = drawn.Progress(
            drawn.TextColumn("[bold]{task.description}"),
            drawn.BarColumn(bar_width=24),
            drawn.TextColumn("{task.fields[doing]}", markup=False),
            drawn.TextColumn("{task.fields[note]}", style="green", markup=False),
            drawn.TimeElapsedColumn(),
            drawn.TimeRemainingColumn(),
            console=console,
            transient=True,
            auto_refresh=False,
        )
        self._task = self.shown.add_task(title, total=None, doing="", note="")

    def say(self, text: str, done: int | None = None, total: int | None = None, note: str = "") -> None:
        counted = f"{text}, {done or 0} of {total}" if total else text
        self.shown.update(self._task, completed=done, total=total, doing=counted, note=note, refresh=True)

    def tick(self) -> None:
        self.shown.refresh()


def _is_terminal(stream: TextIO) -> bool:
    return hasattr(stream, "isatty") and stream.isatty()
