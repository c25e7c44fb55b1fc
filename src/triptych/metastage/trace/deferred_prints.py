"""Deferred prints: the output of `print` while a loop is traced, until the loop will not be traced again."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


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
