"""Faults that a script plants: every barrier, wait, commit, fence and bounds test of a program goes, one at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_ORDERS = re.compile(
    r"^\s*(?:cute\.)?(?:\w+\.)*(?:sync_threads|sync_warp|barrier|barrier_arrive|cp_async_wait_group|"
    r"cp_async_commit_group|producer_acquire|producer_commit|consumer_wait|consumer_release|fence|fence_\w+)\(.*\)\s*(?:#.*)?$"
)
_BOUNDS = re.compile(r"cute\.elem_less\((?:[^()]|\([^()]*\))*\)")


@dataclass(frozen=True, slots=True)
class Removal:
    """A program without one of its lines, or with a test of bounds that always holds."""

    file: Path
    line: int
    removed: str

    @property
    def name(self) -> str:
        return f"{self.file.name}:{self.line}"

    def text(self) -> str:
        """The program, with `pass` in place of the line so that all others keep their numbers."""
        lines = self.file.read_text(encoding="utf-8").splitlines()
        line = lines[self.line - 1]
        lines[self.line - 1] = _ORDERS.sub(" " * (len(line) - len(line.lstrip())) + "pass", _BOUNDS.sub("True", line))
        return "\n".join(lines) + "\n"


def removals(files: list[Path]) -> Iterator[Removal]:
    """One for each line that only orders other lines, or tests bounds."""
    for file in files:
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
            if _ORDERS.match(line):
                yield Removal(file, number, line.split("#")[0].strip())
            elif found := _BOUNDS.search(line):
                yield Removal(file, number, found[0])
