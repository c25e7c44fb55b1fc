"""Whole texts kept beside the tests. `pytest --update-golden` writes them anew; read the difference first."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Golden:
    """Compares texts with the files that hold them, or rewrites the files."""

    update: bool

    def check(self, file: Path, text: str) -> None:
        if self.update:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        assert file.exists(), f"{file} is missing: run pytest --update-golden"
        assert text == file.read_text(encoding="utf-8")
