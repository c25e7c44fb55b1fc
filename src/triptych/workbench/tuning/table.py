"""Tuning table in a file: a line for each row and for each few samples, written as soon as they are known.

So a search that was killed goes on where it was; a line that was being written when it was killed is not read. Lines
are not forced to the disk: a killed process loses nothing that it has written, only a machine without power does.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from triptych.cute.tuning.rows import Config, Row


class Table:
    """All rows, in a file and here."""

    def __init__(self, file: Path, key: str, configs: Sequence[Config]) -> None:
        self.file, self.key, self.configs = file, key, list(configs)
        self.rows: dict[int, Row] = {}
        self.winner: int | None = None
        """Of a search that has come to its end."""
        self._read()

    def put(self, row: Row) -> None:
        """Keep a row: the last one of a configuration counts."""
        self.rows[row.number] = row
        self._append({"row": asdict(row)})

    def add_samples(self, number: int, seconds: Sequence[float]) -> None:
        """Further samples of a configuration that runs."""
        self.rows[number] = _sampled(self.rows[number], seconds)
        self._append({"samples": [number, list(seconds)]})

    def decide(self, winner: int) -> None:
        """Keep what the search has found."""
        self.winner = winner
        self._append({"winner": winner})

    def left(self) -> list[int]:
        """Configurations of which nothing is known."""
        return [number for number in range(len(self.configs)) if number not in self.rows]

    def _read(self) -> None:
        if not self.file.is_file():
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self._append({"key": self.key, "configs": self.configs})
            return
        lines = [_parsed(line) for line in self.file.read_text(encoding="utf-8").splitlines()]
        same = bool(lines) and (lines[0].get("key"), lines[0].get("configs")) == (self.key, _plain(self.configs))
        if not same:
            self.file.unlink()
            self._read()
            return
        for line in lines[1:]:
            self._take(line)

    def _take(self, line: Mapping[str, Any]) -> None:
        if "row" in line:
            number = line["row"]["number"]
            self.rows[number] = Row(**{**line["row"], "config": self.configs[number]})
        elif "crash" in line:
            number, how = line["crash"]
            known = self.rows.get(number) or Row(number, self.configs[number], "failed", how)
            self.rows[number] = replace(known, state="failed", reason=how)
        elif "samples" in line:
            number, seconds = line["samples"]
            self.rows[number] = _sampled(self.rows[number], seconds)
        elif "winner" in line:
            self.winner = line["winner"]

    def _append(self, line: dict[str, Any]) -> None:
        with self.file.open("a", encoding="utf-8") as out:
            whole = not out.tell() or self._ends_with_a_line()
            out.write(("" if whole else "\n") + json.dumps(line, default=str) + "\n")

    def _ends_with_a_line(self) -> bool:
        with self.file.open("rb") as read:
            read.seek(-1, os.SEEK_END)
            return read.read(1) == b"\n"


def append_crash(file: Path, number: int, how: str) -> None:
    """A configuration whose process is gone."""
    with file.open("a", encoding="utf-8") as out:
        out.write("\n" + json.dumps({"crash": [number, how]}) + "\n")


def facts_text(facts: dict[str, Any]) -> str:
    """The assembler's numbers in one line, in the same order for every configuration."""
    named = {
        "registers": "{} registers",
        "shared": "{} bytes shared",
        "spilled": "{} bytes spilled",
        "threads": "{} threads",
        "blocks_at_once": "{} blocks per SM",
    }
    known = [text.format(facts[name]) for name, text in named.items() if name in facts]
    return ", ".join([*known, f"code {facts['digest'][:12]}"] if facts.get("digest") else known)


def _sampled(row: Row, seconds: Sequence[float]) -> Row:
    return replace(row, state="measured", reason="measured", seconds=[*row.seconds, *seconds])


def _plain(configs: Sequence[Config]) -> list[dict[str, Any]]:
    """As they come back from a file."""
    return list(json.loads(json.dumps(list(configs), default=str)))


def _parsed(line: str) -> dict[str, Any]:
    try:
        return dict(json.loads(line))
    except ValueError:  # cut off by a kill
        return {}
