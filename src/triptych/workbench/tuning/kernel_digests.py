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
    """Of a file as it is now, with the files of its folder and of its package that it imports, and theirs."""
    found, pending = dict[Path, str](), [file.resolve()]
    while pending:
        path = pending.pop()
        if path not in found:
            found[path], imported = _of_one(path, path.stat().st_mtime_ns, path.stat().st_size)
            pending += [other for other in imported if other.is_file()]
    whole = hashlib.sha256("".join(found[path] for path in sorted(found)).encode())
    return whole.hexdigest()[:24]


@cache
def _of_one(path: Path, changed: int, size: int) -> tuple[str, tuple[Path, ...]]:
    """The digest of one file, and where what it imports may lie; kept as long as it does not change."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = tuple(_imported(path, tree))
    return hashlib.sha256(f"{path.name}\0{ast.dump(_Bare().visit(tree))}".encode()).hexdigest(), imported


def _imported(file: Path, tree: ast.Module) -> Iterator[Path]:
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module] if node.module else [alias.name for alias in node.names]
        for folder in (file.parent, _root(file)):
            yield from (folder.joinpath(*name.split(".")).with_suffix(".py") for name in names)


def _root(file: Path) -> Path:
    """The folder that the file's package is in."""
    folder = file.parent
    while (folder / "__init__.py").is_file() and folder != folder.parent:
        folder = folder.parent
    return folder


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
