"""Locks survive forks: they come from `support/forking`, or their file renews them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import triptych

PACKAGE = Path(triptych.__file__).parent
RENEWED = {"support/forking.py", "support/interrupts.py", "ir/worker.py"}
"""Files that care for their locks themselves; all of them register what they do at a fork."""
LOCKS = {"Lock", "RLock", "Condition", "Semaphore", "Event", "Barrier", "cached_property", "Queue"}


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_lock_of_its_own(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    used = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    used += [
        decorator for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for decorator in node.decorator_list
    ]
    names = {node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "") for node in used}
    if str(path.relative_to(PACKAGE)) in RENEWED:
        assert "register_at_fork" in path.read_text(encoding="utf-8")
    else:
        assert not names & LOCKS
