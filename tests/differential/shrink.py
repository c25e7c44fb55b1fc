"""Making a failing program small: edit its record of decisions, keep what still fails and is simpler.

Mass runs find bugs by seed, which Hypothesis did not draw; every decision has 0 as its simplest outcome, so cutting
and lowering the recorded numbers simplifies the program without knowing anything about Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from tests.differential.choices import Choices, ReplayedChoices


class HasSource(Protocol):
    """A generated program of any kind."""

    @property
    def source(self) -> str: ...


P = TypeVar("P", bound=HasSource)

CUTS = (0, 1, 2, 3, 4, 6, 8, 12, 20)


def shrink(
    record: Sequence[int], generate: Callable[[Choices], P], fails: Callable[[P], bool], attempts: int = 1000
) -> P:
    """Return the simplest failing program found; the program that `generate` makes of `record` must fail."""
    search = _Search(record, generate, fails, attempts)
    size = None
    while size != search.size():
        size = search.size()
        length = len(search.record) // 2
        while length > 0:
            search.cut_or_zero_runs(length)
            length //= 2
        search.lower_numbers()
    return search.program


class _Search(Generic[P]):
    """The simplest failing program so far, with the decisions it really used."""

    def __init__(
        self, record: Sequence[int], generate: Callable[[Choices], P], fails: Callable[[P], bool], attempts: int
    ) -> None:
        self._generate = generate
        self._fails = fails
        self._attempts = attempts
        self.program, self.record = self._replay(record)
        self._seen = {self.program.source}

    def size(self) -> tuple[int, int, list[int]]:
        """Return what must become smaller."""
        return len(self.program.source), len(self.record), self.record

    def cut_or_zero_runs(self, length: int) -> None:
        """Try to do without each run of this length."""
        start = 0
        while start < len(self.record):
            before, after = self.record[:start], self.record[start + length :]
            if not self._improves([*before, *after]) and not self._improves([*before, *[0] * length, *after]):
                start += length

    def lower_numbers(self) -> None:
        """Try lower numbers; a lower one often means that fewer decisions follow, so those are cut as well."""
        at = 0
        while at < len(self.record):
            value = self.record[at]
            lower = sorted({0, value // 2, value - 1}) if value else []
            edits = ([*self.record[:at], low, *self.record[at + 1 + cut :]] for low in lower for cut in CUTS)
            if not any(map(self._improves, edits)):
                at += 1

    def _improves(self, edited: list[int]) -> bool:
        program, record = self._replay(edited)
        if (len(program.source), len(record), record) >= self.size() or program.source in self._seen:
            return False
        self._seen.add(program.source)
        self._attempts -= 1
        if self._attempts < 0 or not self._fails(program):
            return False
        self.program, self.record = program, record
        return True

    def _replay(self, record: Sequence[int]) -> tuple[P, list[int]]:
        choices = ReplayedChoices(record)
        return self._generate(choices), choices.record
