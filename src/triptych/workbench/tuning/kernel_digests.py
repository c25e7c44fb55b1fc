"""Which kernel a choice is for: a digest of its file and of what it imports beside itself, without what is tuned.

The text counts as syntax: comments, blank lines, docstrings and the values to choose from (`TUNE`) change nothing.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TUNED_NAMES = ("TUNE", "CASES")
"""What there is to choose from and which problems there are: neither is the kernel."""


def kernel_digest(file: Path) -> str:
    """Of a file as it is now."""
    whole = hashlib.sha256()
    for path in sorted(_with_imports(file.resolve())):
        whole.update(_of_one(path, path.stat().st_mtime_ns, path.stat().st_size).encode())
    return whole.hexdigest()[:24]


@cache
def _of_one(path: Path, changed: int, size: int) -> str:
    """Of one file; kept as long as it does not change."""
    tree = _Bare().visit(_parsed(path))
    return hashlib.sha256(f"{path.name}\0{ast.dump(tree)}".encode()).hexdigest()


def _with_imports(file: Path) -> set[Path]:
    """The file, and the files of its folder and of its package that it imports, and theirs."""
    found, pending = set[Path](), [file]
    while pending:
        path = pending.pop()
        if path not in found:
            found.add(path)
            pending += _imported(path)
    return found


def _imported(file: Path) -> Iterator[Path]:
    for node in ast.walk(_parsed(file)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module] if node.module else [alias.name for alias in node.names]
        for folder in (file.parent, _root(file)):
            paths = (folder.joinpath(*name.split(".")).with_suffix(".py") for name in names)
            yield from (path for path in paths if path.is_file())


def _root(file: Path) -> Path:
    """The folder that the file's package is in."""
    folder = file.parent
    while (folder / "__init__.py").is_file() and folder != folder.parent:
        folder = folder.parent
    return folder


def _parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


class _Bare(ast.NodeTransformer):
    """Without docstrings, and without what is tuned."""

    def visit_Module(self, node: ast.Module) -> ast.AST:
        tuned = [child for child in node.body if _is_tuned(child)]
        spaces = {part.id for child in tuned for part in ast.walk(child) if isinstance(part, ast.Name)}
        kept = [child for child in node.body if child not in tuned and getattr(child, "name", "") not in spaces]
        node.body = kept
        return self._without_text(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._without_text(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._without_text(node)

    def _without_text(self, node: ast.Module | ast.FunctionDef | ast.ClassDef) -> ast.AST:
        node.body = [child for child in node.body if not _is_text(child)] or [ast.Pass()]
        return self.generic_visit(node)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _is_tuned(node: ast.stmt) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return any(isinstance(target, ast.Name) and target.id in TUNED_NAMES for target in targets)
