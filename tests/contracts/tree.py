"""The files the contracts look at."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "triptych"
CATALOGUE = PACKAGE / "diagnostics" / "catalogue"
"""Programs that show errors, which nothing imports."""

TEXT = {".py", ".md", ".toml", ".yaml", ".yml", ".txt", ".mlir", ".ll", ".json", ".cfg", ""}
GENERATED = {"__pycache__", "build", "dist", "node_modules", "venv", ".git"}
"""Also a file `.git`, which is what a second work tree has."""


def package_files() -> list[Path]:
    """Every module of the package."""
    return sorted(path for path in PACKAGE.rglob("*.py") if CATALOGUE not in path.parents)


def python_files() -> list[Path]:
    """Every Python file a person wrote, tests and examples included."""
    return [path for path in text_files() if path.suffix == ".py"]


def text_files() -> list[Path]:
    """Every file of the repository a person may read."""
    return sorted(path for path in _walk(ROOT) if path.suffix in TEXT)


@cache
def syntax(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _walk(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        hidden_tool_state = path.name.startswith(".") and path.name != ".ci"
        if path.is_dir() and path.name not in GENERATED and not hidden_tool_state:
            yield from _walk(path)
        elif path.is_file() and path.name not in GENERATED:
            yield path
