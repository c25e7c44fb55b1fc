"""Lines of a generated body with their indentation, and the few shapes that all generators write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Lines:
    """Writes the lines of one function."""

    def __init__(self) -> None:
        self._indent = 1
        self.lines: list[str] = []

    def _write(self, line: str) -> None:
        self.lines.append("    " * self._indent + line)

    @contextmanager
    def _indented(self) -> Iterator[None]:
        self._indent += 1
        yield
        self._indent -= 1

    @contextmanager
    def _suite(self) -> Iterator[None]:
        """The lines inside a compound statement: at least one."""
        with self._indented():
            start = len(self.lines)
            yield
            if len(self.lines) == start:
                self._write("pass")

    def _while_burning(self, fuel: str, form: int, test: str) -> None:
        """The first lines of a loop that ends when a number is used up.

        Form 0 tests the number, 1 then also `test`, 2 counts in the test, 3 leaves from inside, 4 has `test` first.
        """
        heads = (
            f"{fuel} > 0",
            f"{fuel} > 0 and {test}",
            f"({fuel} := {fuel} - 1) >= 0",
            "True",
            f"{test} and {fuel} > 0",
        )
        self._write(f"while {heads[form]}:")
        with self._indented():
            if form != 2:
                self._write(f"{fuel} -= 1")
            if form == 3:
                self._write(f"if {fuel} < 0:")
                self._write("    break")
