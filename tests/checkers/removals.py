"""Faults that a script plants: every barrier, wait, commit, fence and bounds test of a program goes, one at a time."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_BARRIERS = {"sync_threads", "sync_warp", "barrier", "barrier_arrive", "cluster_arrive", "cluster_wait"}
_COPIES = {f"cp_async{kind}_{what}_group" for kind in ("", "_bulk") for what in ("wait", "commit")}
_STAGES = {"producer_acquire", "producer_commit", "producer_tail", "consumer_wait", "consumer_release"}
_HANDLES = {"acquire", "commit", "wait", "release", "tail", "commit_group", "wait_group", "fence"}
_MBARRIERS = {"mbarrier_arrive", "mbarrier_wait", "mbarrier_arrive_and_expect_tx", "mbarrier_init_fence"}
ORDERS = (
    _BARRIERS
    | _COPIES
    | _STAGES
    | _HANDLES
    | _MBARRIERS
    | {"pipeline_init_wait", "pipeline_init_arrive", "wait_for_alloc"}
)
"""Calls that only order others: as statements they go."""
STAGES = frozenset({"acquire_and_advance", "wait_and_advance"})
"""Calls that wait and give a stage: with a token that says that it is ready they do not wait."""


@dataclass(frozen=True, slots=True)
class Removal:
    """A program without one of its lines, or with a test of bounds that always holds."""

    file: Path
    line: int
    columns: tuple[int, int]
    removed: str
    replacement: str

    @property
    def name(self) -> str:
        return f"{self.file.name}:{self.line}"

    def text(self) -> str:
        """The program, in which all other lines keep their numbers."""
        lines = self.file.read_text(encoding="utf-8").splitlines()
        line, (begin, end) = lines[self.line - 1], self.columns
        lines[self.line - 1] = line[:begin] + self.replacement + line[end:]
        return "\n".join(lines) + "\n"


def removals(files: list[Path]) -> Iterator[Removal]:
    """One for each line that only orders other lines, each wait that gives a stage, and each test of bounds."""
    for file in files:
        text = file.read_text(encoding="utf-8")
        tree = ast.parse(text)
        found = {
            Removal(file, node.lineno, (node.col_offset, end), ast.get_source_segment(text, node) or "", replacement)
            for node, replacement in _planted(tree)
            if node.end_lineno == node.lineno and (end := node.end_col_offset) is not None
        }
        yield from sorted(found, key=lambda each: (each.line, each.columns))


def reaching(text: str, line: int) -> set[str]:
    """The names at the top of a module that lead to the function with this line."""
    known = {name: node for node in ast.parse(text).body for name in _defined(node)}
    reached = {name for name, node in known.items() if node.lineno <= line <= (node.end_lineno or 0)}
    while more := {name for name, node in known.items() if named_by(node, known) & reached} - reached:
        reached |= more
    return reached


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]


def functions(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """All functions of a module, by name."""
    return {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def named_by(node: ast.AST, known: Mapping[str, object]) -> set[str]:
    """The functions of a module that a part of it names."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and each.id in known}


def _planted(tree: ast.Module) -> Iterator[tuple[ast.stmt | ast.expr, str]]:
    for function in _of_kernels(tree):
        extents = _extents(function)
        for node in ast.walk(function):
            if isinstance(node, ast.Expr) and _called(node.value) in ORDERS:
                yield node, "pass"
            elif isinstance(node, ast.Call) and _called(node) in STAGES and not node.args:
                yield node, f"{ast.unparse(node.func)}(True)"
            elif isinstance(node, ast.Call) and _called(node) == "elem_less":
                yield node, "True"
            elif isinstance(node, ast.If | ast.IfExp):
                tests = [each for each in ast.walk(node.test) if isinstance(each, ast.Compare)]
                yield from ((each, "True") for each in tests if _tests_bounds(each, extents))


def _of_kernels(tree: ast.Module) -> list[ast.FunctionDef]:
    """Kernels, and the functions of the module that they call."""
    known = functions(tree)
    reached = {name for name, node in known.items() if any(_last(each) == "kernel" for each in node.decorator_list)}
    while more := {name for each in reached for name in named_by(known[each], known)} - reached:
        reached |= more
    return [known[name] for name in sorted(reached)]


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _called(node: ast.AST) -> str:
    name = _last(node.func) if isinstance(node, ast.Call) else ""
    return "fence" if name.startswith("fence_") else name


def _is_extent(node: ast.AST, extents: set[str]) -> bool:
    """Whether an expression is about the size of something."""
    parts = list(ast.walk(node))
    names = {_last(part) for part in parts if isinstance(part, ast.expr)}
    return bool(names & {"shape", "size"} or {part.id for part in parts if isinstance(part, ast.Name)} & extents)


def _extents(function: ast.FunctionDef) -> set[str]:
    """The names of a function that stand for sizes."""
    found = {each.arg for each in function.args.args if each.arg in ("n", "rows", "columns", "count", "shape")}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and _is_extent(node.value, set()) and "[" not in ast.unparse(node.targets[0]):
            found |= {part.id for part in ast.walk(node.targets[0]) if isinstance(part, ast.Name)}
    return found


def _tests_bounds(node: ast.Compare, extents: set[str]) -> bool:
    if len(node.ops) != 1:
        return False
    if isinstance(node.ops[0], ast.GtE):
        return isinstance(node.comparators[0], ast.Constant)
    return isinstance(node.ops[0], ast.Lt | ast.LtE) and _is_extent(node.comparators[0], extents)
