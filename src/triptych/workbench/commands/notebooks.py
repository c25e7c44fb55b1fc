"""A notebook as a program: its code cells from top to bottom in one namespace, as a notebook server would run them all.

The value of an expression that ends a cell is printed. Each cell is compiled under a name of its own, with its text in
`linecache`, so that functions of it can be compiled and errors show their line. A cell that may fail says so with the
tag `raises-exception`, which other tools know, too.
"""

from __future__ import annotations

import ast
import json
import linecache
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from triptych.support.dataclass import dataclass

SUFFIX = ".ipynb"
_COMMANDS = ("%", "!")
"""What lines for the notebook's server begin with; Python cannot."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of code: what tracebacks call it, its text, and whether it may fail."""

    name: str
    text: str
    may_fail: bool


def run_notebook(path: Path) -> None:
    """Run all cells as the module `__main__`; the first failure ends it."""
    main = ModuleType("__main__")
    main.__file__ = str(path)
    sys.modules["__main__"] = main
    for cell in cells(path):
        linecache.cache[cell.name] = (len(cell.text), None, cell.text.splitlines(keepends=True), cell.name)
        try:
            _run(cell, vars(main))
        except Exception:
            if not cell.may_fail:
                raise
            traceback.print_exc()


def _run(cell: Cell, names: dict[str, Any]) -> None:
    """Run a cell; the value of an expression at its end is shown, unless a semicolon follows it."""
    tree = ast.parse(cell.text, cell.name)
    last = tree.body[-1] if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    if last is not None:
        tree.body.pop()
    exec(compile(tree, cell.name, "exec", dont_inherit=True), names)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), cell.name, "eval", dont_inherit=True), names)
        if value is not None and not cell.text.rstrip().endswith(";"):
            print(repr(value))


def cells(path: Path) -> Iterator[Cell]:
    """The cells of code of a notebook, counted from 1 among all its cells."""
    for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"], start=1):
        if cell["cell_type"] == "code":
            tags = cell.get("metadata", {}).get("tags", ())
            yield Cell(f"{path}[{number}]", _python("".join(cell["source"])), "raises-exception" in tags)


def _python(text: str) -> str:
    """Lines for the server become comments, so that the others keep their numbers."""
    lines = text.splitlines(keepends=True)
    return "".join(f"# {line}" if line.lstrip().startswith(_COMMANDS) else line for line in lines)
