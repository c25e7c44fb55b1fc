"""Locks survive forks: they come from `support/forking`, or their file renews them."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.contracts.tree import PACKAGE, package_files, syntax

RENEWED = {"support/forking.py", "support/interrupts.py", "ir/llvm/worker.py"}
"""Files that care for their locks themselves; all of them register what they do at a fork."""
LOCKS = {"Lock", "RLock", "Condition", "Semaphore", "Event", "Barrier", "cached_property", "Queue"}


def called(path: Path) -> set[str]:
    """The names that a module calls, or decorates with."""
    nodes = list(ast.walk(syntax(path)))
    used = [node.func for node in nodes if isinstance(node, ast.Call)]
    used += [decorator for node in nodes if isinstance(node, ast.FunctionDef) for decorator in node.decorator_list]
    return {node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "") for node in used}


def test_no_lock_of_its_own() -> None:
    found = {path.relative_to(PACKAGE).as_posix(): called(path) & LOCKS for path in package_files()}
    assert {name: locks for name, locks in found.items() if locks and name not in RENEWED} == {}


def test_locks_of_their_own_are_renewed_at_a_fork() -> None:
    assert [name for name in sorted(RENEWED) if "register_at_fork" not in called(PACKAGE / name)] == []
