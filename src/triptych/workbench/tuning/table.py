"""The table of a search: what came of each configuration, kept in a file after every one of them.

The file has a line for each row, so that a search that was killed goes on where it was; a line that was being written
when it was killed is not read.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

State: TypeAlias = Literal["pruned", "failed", "equal", "compiled", "measured"]
Config = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """One configuration."""

    number: int
    config: Config
    state: State
    reason: str
    """Why it was left out, how it failed, which one it equals, or what is known of it."""
    seconds: list[float] = field(default_factory=list)
    """Samples of one call."""
    cpu_seconds: float = 0.0
    """Spent on compiling it."""
    facts: dict[str, Any] = field(default_factory=dict)
    """The assembler's numbers."""
    foreseen: bool = False
    """Left out by a rule that needs no compilation."""

    @property
    def best(self) -> float:
        """The middle of its samples."""
        ordered = sorted(self.seconds)
        return ordered[len(ordered) // 2] if ordered else float("inf")


class Table:
    """All rows, in a file and here."""

    def __init__(self, file: Path, key: str, configs: Sequence[Config]) -> None:
        self.file, self.key, self.configs = file, key, list(configs)
        self.rows: dict[int, Row] = {}
        self._read()

    def put(self, row: Row) -> None:
        """Keep a row: the last one of a configuration counts."""
        self.rows[row.number] = row
        self._append({"row": asdict(row)})

    def add_samples(self, number: int, seconds: Sequence[float]) -> None:
        """Further samples of a configuration that was measured."""
        row = self.rows[number]
        self.put(replace(row, state="measured", seconds=[*row.seconds, *seconds]))

    def left(self) -> list[int]:
        """Configurations of which nothing is known."""
        return [number for number in range(len(self.configs)) if number not in self.rows]

    def counts(self) -> dict[str, int]:
        """How many there are of each kind of reason, numbers in the reasons left out."""
        kinds = Counter(f"{row.state}: {_kind(row.reason)}" for row in self.rows.values())
        return dict(kinds.most_common())

    def _read(self) -> None:
        if not self.file.is_file():
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self._append({"key": self.key, "configs": self.configs})
            return
        lines = [_parsed(line) for line in self.file.read_text(encoding="utf-8").splitlines()]
        if not lines or lines[0].get("key") != self.key or lines[0].get("configs") != self.configs:
            self.file.unlink()
            self._read()
            return
        for line in lines[1:]:
            if "row" in line:
                number = line["row"]["number"]
                self.rows[number] = Row(**{**line["row"], "config": self.configs[number]})

    def _append(self, line: dict[str, Any]) -> None:
        with self.file.open("a", encoding="utf-8") as out:
            if out.tell() and not self._ends_with_a_line():
                out.write("\n")
            out.write(json.dumps(line) + "\n")
            out.flush()
            os.fsync(out.fileno())

    def _ends_with_a_line(self) -> bool:
        with self.file.open("rb") as read:
            read.seek(-1, os.SEEK_END)
            return read.read(1) == b"\n"


def append_crash(file: Path, number: int, how: str) -> None:
    """A row for a configuration whose process is gone."""
    row = Row(number, {}, "failed", how)
    with file.open("a", encoding="utf-8") as out:
        out.write("\n" + json.dumps({"row": asdict(row)}) + "\n")


def _parsed(line: str) -> dict[str, Any]:
    try:
        return dict(json.loads(line))
    except ValueError:  # cut off by a kill
        return {}


def _kind(reason: str) -> str:
    words = (word for word in reason.split() if not any(letter.isdigit() for letter in word))
    return " ".join(words)[:70]
