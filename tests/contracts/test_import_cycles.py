"""No module imports one that imports it, imports for type checkers included: a reader follows the arrows one way."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

from tests.contracts.tree import PACKAGE, package_files, syntax

STUBS = {("triptych.metastage.values.numeric", "triptych.metastage.values.scalars")}
"""What `to(int)` is for type checkers stands in a stub beside the numeric classes, which a test writes."""


def test_no_module_imports_one_that_imports_it() -> None:
    files = {_module(path): path for path in package_files()}
    graph = {name: {found for found in _imported(path, files) if found != name} for name, path in files.items()}
    for name, stub in STUBS:
        graph[name].remove(stub)
    TopologicalSorter(graph).prepare()  # names the cycle that it finds


def _module(path: Path) -> str:
    return ".".join(("triptych", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


def _imported(path: Path, files: dict[str, Path]) -> Iterator[str]:
    for node in ast.walk(syntax(path)):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in files else node.module for name in names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
