"""The shape of the tree as numbers that may fall and never rise: each ceiling is the value that was reached last.

A number that has fallen below its ceiling fails too, so that the ceiling follows it down.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import takewhile
from pathlib import Path

import pytest

from tests.contracts.tree import PACKAGE, ROOT, package_files, syntax

SMALL = 80
"""Lines of a module that could be a part of its only user."""
CEILINGS = {
    "small modules whose only importer stands beside them": 8,
    "class names used twice in one package": 10,
    "parameters annotated Any": 271,
    "comparisons of printed types": 0,
    "assertions without a message": 1,
    "calls of hasattr": 107,
    "lines of IR in string literals": 2326,
}
IR_LINE = re.compile(
    r"^\s*(%[\w.$]+(:\d+)? = |define |declare |ret |br |store |llvm\.|func\.|scf\.|memref\.|cf\.|arith\.)"
)


def name_of(path: Path) -> str:
    """As it is imported."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, Path]:
    return {name_of(path): path for path in package_files()}


@cache
def importers() -> dict[str, set[str]]:
    """Of each module, the modules that import it or name it in a text, as late imports do."""
    users: dict[str, set[str]] = defaultdict(set)
    for user, path in modules().items():
        for used in _used(syntax(path)):
            users[used].add(user)
    return users


def _used(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in modules() else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in modules():
            yield node.value


def small_and_alone() -> Iterator[str]:
    for name, path in modules().items():
        users = importers()[name] - {name}
        if path.name != "__init__.py" and len(users) == 1 and len(path.read_text().splitlines()) <= SMALL:
            user = modules()[next(iter(users))]
            if user.parent == path.parent and user.name != "__init__.py":
                yield name


def double_class_names() -> Iterator[str]:
    seen: Counter[tuple[str, str]] = Counter()
    for path in package_files():
        package = path.relative_to(PACKAGE).parts[0]
        seen.update((package, node.name) for node in syntax(path).body if isinstance(node, ast.ClassDef))
    yield from (f"{package}: {name}" for (package, name), count in seen.items() if count > 1)


def nodes(kind: type[ast.AST]) -> Iterator[ast.AST]:
    for path in package_files():
        yield from (node for node in ast.walk(syntax(path)) if isinstance(node, kind))


def parameters_of_any() -> Iterator[str]:
    yield from (node.arg for node in nodes(ast.arg) if _is_named(node.annotation, "Any"))  # type: ignore[attr-defined]


def printed_types() -> Iterator[str]:
    for node in nodes(ast.Compare):
        if re.search(r"\bstr\([\w.]+\.type\)", ast.unparse(node)):
            yield ast.unparse(node)


def silent_assertions() -> Iterator[str]:
    yield from (ast.unparse(node) for node in nodes(ast.Assert) if node.msg is None)  # type: ignore[attr-defined]


def calls_of_hasattr() -> Iterator[str]:
    yield from (ast.unparse(node) for node in nodes(ast.Call) if _is_named(node.func, "hasattr"))  # type: ignore[attr-defined]


def ir_lines() -> Iterator[str]:
    for node in nodes(ast.Constant):
        if isinstance(node.value, str) and "\n" in node.value:  # type: ignore[attr-defined]
            yield from (line for line in node.value.splitlines() if IR_LINE.match(line))  # type: ignore[attr-defined]


def _is_named(node: ast.AST | None, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


COUNTED = dict(
    zip(
        CEILINGS,
        (
            small_and_alone,
            double_class_names,
            parameters_of_any,
            printed_types,
            silent_assertions,
            calls_of_hasattr,
            ir_lines,
        ),
        strict=True,
    )
)


@pytest.mark.parametrize("what", CEILINGS)
def test_a_number_that_fell_stays_down(what: str) -> None:
    found = sorted(COUNTED[what]())
    assert len(found) == CEILINGS[what], f"{what}: {len(found)}, {CEILINGS[what]} before\n" + "\n".join(found[:40])


def test_two_folders_below_one_package_never_import_each_other() -> None:
    edges = set()
    for user, path in modules().items():
        for used in _imports(syntax(path)) & modules().keys():
            paths = [modules()[name].relative_to(PACKAGE) for name in (user, used)]
            if "__init__.py" in (paths[0].name, paths[1].name):
                continue
            first, second = (path.parent.parts for path in paths)
            common = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))))
            if common < min(len(first), len(second)):
                edges.add(("/".join(first[: common + 1]), "/".join(second[: common + 1])))
    assert {(a, b) for a, b in edges if (b, a) in edges and a < b} == set()


def _imports(tree: ast.Module) -> set[str]:
    """What a module imports when it is imported itself, not late and not for a type checker."""
    return set(_used(ast.Module([node for node in tree.body if isinstance(node, ast.ImportFrom)], [])))


def test_unit_tests_stand_where_the_path_of_their_module_says() -> None:
    unit = ROOT / "tests" / "unit"
    folders = {path.parent.relative_to(unit) for path in unit.rglob("test_*.py")}
    assert not sorted(str(folder) for folder in folders if not (PACKAGE / folder).is_dir())
