"""One builder creates the operations of MLIR: a second way to emit has to be a change of this file."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

import pytest

from tests.contracts.tree import PACKAGE, ROOT, package_files, relative, syntax

BUILDER = PACKAGE / "ir" / "builder.py"
SUBCLASSES = {"src/triptych/targets/cpu/emit/lane_builder.py: LaneBuilder"}


def creations(tree: ast.AST) -> Iterator[int]:
    """The lines that make an insertion point or an operation with the bindings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            makes = node.attr == "create" and isinstance(node.value, ast.Attribute) and node.value.attr == "Operation"
            if node.attr == "InsertionPoint" or makes:
                yield node.lineno


def builders(tree: ast.AST) -> Iterator[str]:
    """The classes that are builders, too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and any(
            isinstance(base, ast.Name) and base.id.endswith("Builder") for base in node.bases
        ):
            yield node.name


def test_only_the_builder_creates_operations_and_insertion_points() -> None:
    examples = sorted((ROOT / "examples").glob("*.py"))
    found = {
        relative(path): lines
        for path in (*package_files(), *examples)
        if path != BUILDER and (lines := list(creations(syntax(path))))
    }
    assert not found, "lines that create operations past `ir/builder.py`"


def test_builders_are_those_that_the_decision_names() -> None:
    found = {f"{relative(path)}: {name}" for path in package_files() for name in builders(syntax(path))}
    assert found == SUBCLASSES


@pytest.mark.parametrize(
    ("find", "text"),
    [
        (creations, "ir.Operation.create('a.b')"),
        (creations, "bindings.mlir().InsertionPoint(block)"),
        (creations, "ir.InsertionPoint.after(x)"),
        (builders, "class Code(Builder): ..."),
        (builders, "class Wider(LaneBuilder): ..."),
    ],
)
def test_the_rules_find_what_they_look_for(find: Callable[[ast.AST], Iterator[object]], text: str) -> None:
    assert list(find(ast.parse(text)))
    assert not list(find(ast.parse("builder.operation('a.b')")))
