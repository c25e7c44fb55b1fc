"""Progress of a trace: it says so when it takes long, ends with an error where it would not end, and holds prints back
until the loop that they stand in will not be traced again.
"""

from __future__ import annotations

import io
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from triptych.metastage.trace import locations
from triptych.metastage.trace.errors import LongTraceError
from triptych.support.config import config
from triptych.support.errors import SlowTraceWarning
from triptych.support.source import Span

T = TypeVar("T")

LOOK_EVERY = 1_000
"""Operations, or iterations, between two looks at the clock: some ten milliseconds."""

_SHOWN_AFTER = 1.0
_SHOWN_EVERY = 0.2
"""Seconds: a terminal shows how far a trace is from some time on, and not more often than anybody can read."""

_ADVICE = {
    True: "`for i in range(n)` without `range_constexpr` or `unroll_full`, which loops at run time",
    False: "a loop at run time, `for i in range(n)`, in the place of a recursion or of statements in a row",
}
"""What to write instead, by whether Python is running a loop."""


class _Loop:
    """A loop that Python runs while tracing."""

    __slots__ = ("count", "span")

    def __init__(self, span: Span | None) -> None:
        self.span = span
        self.count = 0


class Progress:
    """The operations of one trace and the loops around the next."""

    def __init__(self) -> None:
        self.name = "the function"
        self.emitted = 0
        """Operations so far; whoever adds one calls `look` when there are `look_at` of them."""
        self.look_at = LOOK_EVERY
        self._limit = config().trace_limit
        self._warn_after = config().slow_trace or float("inf")
        self._started = time.monotonic()
        self._loops: list[_Loop] = []
        self._shown = 0.0
        self._is_shown = False

    def each(self, items: Iterable[T]) -> Iterator[T]:
        """The items of a loop that Python runs; the loop is known while they last."""
        loop = _Loop(locations.current_span())
        self._loops.append(loop)
        try:
            for item in items:
                loop.count += 1
                if loop.count % LOOK_EVERY == 0:
                    self.look()
                yield item
        finally:
            self._loops.remove(loop)

    def look(self) -> None:
        """See whether the trace takes long, or is too long."""
        self.look_at = self.emitted + LOOK_EVERY
        if self.emitted > self._limit:
            raise self._too_long()
        passed = time.monotonic() - self._started
        if passed > self._warn_after:
            self._warn_after = float("inf")
            self._warn(passed)
        if passed > max(_SHOWN_AFTER, self._shown + _SHOWN_EVERY) and sys.stderr.isatty():
            self._shown, self._is_shown = passed, True
            where = self._span()
            line = f" at line {where.line}" if where is not None else ""
            sys.stderr.write(f"\r\x1b[Ktracing {self.name}: {self.emitted:,} operations{line}, {passed:.0f} s")
            sys.stderr.flush()

    def finish(self) -> None:
        """Leave the terminal as it was."""
        if self._is_shown:
            self._is_shown = False
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _longest(self) -> _Loop | None:
        return max(self._loops, key=lambda loop: loop.count, default=None)

    def _span(self) -> Span | None:
        loop = self._longest()
        return loop.span if loop is not None else locations.current_span()

    def _reason(self) -> str:
        loop = self._longest()
        return f"a loop that Python has run {loop.count:,} times" if loop is not None else "no loop that Python runs"

    def _warn(self, passed: float) -> None:
        self.finish()
        span = self._span()
        file, line = (span.file, span.line) if span is not None else ("<unknown>", 1)
        text = f"tracing {self.name} has taken {passed:.0f} s: {self.emitted:,} operations so far, "
        text += f"{self._reason()}; shorter: {_ADVICE[bool(self._loops)]}"
        warnings.warn_explicit(text, SlowTraceWarning, file, line)

    def _too_long(self) -> LongTraceError:
        return LongTraceError(
            f"tracing {self.name} has emitted more than {self._limit:,} operations",
            span=self._span(),
            found=self._reason(),
            expected=f"at most {self._limit:,} operations in one function; TRIPTYCH_TRACE_LIMIT sets another limit",
            instead=_ADVICE[bool(self._loops)],
        )


class DeferredPrints:
    """The text that one trace holds back; none outside of loops."""

    def __init__(self) -> None:
        self._depth = 0
        self._held: list[str] = []

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Hold back what is printed; the outermost loop says it when it is traced, or has failed."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth:
                self.say()

    @property
    def length(self) -> int:
        """How much is held back."""
        return len(self._held)

    def forget(self, length: int) -> None:
        """Take back what was held after there was so much."""
        del self._held[length:]

    def say(self) -> None:
        """Print what is held back."""
        text = "".join(self._held)
        self._held.clear()
        if text:
            sys.stdout.write(text)

    def printing(self, function: Callable[..., Any], kwargs: dict[str, Any]) -> Callable[..., Any]:
        """What to call for `function`: what `print` writes to the standard output is held back."""
        return self._print if function is print and self._depth and kwargs.get("file") is None else function

    def _print(self, *args: object, **kwargs: Any) -> None:
        text = io.StringIO()
        print(*args, **{**kwargs, "file": text, "flush": False})
        self._held.append(text.getvalue())
