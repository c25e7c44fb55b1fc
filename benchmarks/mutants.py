"""Not speed: do the tests notice when the code of passes and analyses changes? One drawn change at a time.

    python -m benchmarks.mutants [--count 200] [--seed 1] [--only targets/nvptx] [--jobs 2] [--json]
    python -m benchmarks.mutants --only kernel_ir --tests tests/unit/kernel_ir/test_mma.py

A mutant is the package with one operator, comparison, constant or condition changed. It is killed when the tests that
belong to the changed file fail or do not end: first the test files that name the file or its pass, then those of
its room; with `--tests`, when those fail. Survivors are printed with their line, to be looked at: a test is missing, or
the change means the same (equivalent).
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "triptych"
WANTED = 0.9
PATIENCE = 240
"""Seconds after which the tests of a mutant are taken to hang."""

_SEGMENTS = "tests/unit/targets/cpu/passes/test_segments.py"
ROOMS = {
    "kernel_ir": ("tests/unit/kernel_ir", "tests/laws/test_lane_laws.py", _SEGMENTS),
    "targets/cpu/passes": ("tests/passes", "tests/unit/targets/cpu/runtime", "tests/unit/targets/cpu/passes"),
    "targets/cpu/emit": (
        *("tests/passes/test_vectorize_kernels.py", "tests/unit/kernel_ir", _SEGMENTS),
        *("tests/unit/targets/cpu/emit", "tests/unit/cute/copies/test_copy_instructions.py"),
        *("tests/integration/test_kernel_faults.py", "tests/differential/test_kernels_against_numpy.py"),
    ),
    "targets/cpu/blocks": ("tests/passes/test_vectorize_kernels.py", "tests/unit/targets/cpu/blocks"),
    "targets/nvptx/passes": ("tests/passes", "tests/unit/targets/nvptx/passes", "tests/unit/targets/nvptx/test_ptx.py"),
    "targets/nvptx/analysis": ("tests/passes", "tests/unit/targets/nvptx/passes"),
}
"""Where mutants are made, and the tests of each room."""

_COMPARISONS: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Lt: ast.LtE(), ast.LtE: ast.Lt(), ast.Gt: ast.GtE(), ast.GtE: ast.Gt(), ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(), ast.In: ast.NotIn(), ast.NotIn: ast.In(), ast.Is: ast.IsNot(), ast.IsNot: ast.Is(),
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], ast.operator] = {
    ast.Add: ast.Sub(), ast.Sub: ast.Add(), ast.Mult: ast.Add(), ast.FloorDiv: ast.Mult(), ast.Mod: ast.FloorDiv(),
    ast.LShift: ast.RShift(), ast.RShift: ast.LShift(), ast.BitAnd: ast.BitOr(), ast.BitOr: ast.BitAnd(),
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change: the text of a node, and what stands in its place."""

    file: str
    line: int
    before: str
    after: str
    start: int
    end: int
    """The bytes of the file that are replaced."""


def mutants(path: Path) -> Iterator[Mutant]:
    """Every change of a file."""
    source = path.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    tree = ast.parse(source)
    parts = {id(part) for node in ast.walk(tree) for part in _not_behaviour(node)}
    for node in ast.walk(tree):
        changed = None if id(node) in parts else _changed(node)
        if changed is None or not isinstance(node, ast.expr):
            continue
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        before = source[start:end].decode()
        yield Mutant(path.relative_to(PACKAGE).as_posix(), node.lineno, before, f"({ast.unparse(changed)})", start, end)


def _not_behaviour(node: ast.AST) -> Iterator[ast.AST]:
    """Parts whose change is no change of behaviour: annotations, decorators, and what an error says."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        outside: list[ast.AST] = list(node.decorator_list)
        if isinstance(node, ast.FunctionDef):
            outside += [
                item.annotation for item in ast.walk(node.args) if isinstance(item, ast.arg) and item.annotation
            ]
            outside += [node.returns] if node.returns else []
    elif isinstance(node, ast.AnnAssign):
        outside = [node.annotation]
    elif isinstance(node, ast.Raise | ast.Assert):
        outside = [node]
    elif isinstance(node, ast.keyword) and node.arg == "strict":  # of `zip`: asserts what holds
        outside = [node.value]
    else:
        outside = []
    return (part for item in outside for part in ast.walk(item))


def _changed(node: ast.AST) -> ast.expr | None:
    match node:
        case ast.Compare(left, [op], rest) if type(op) in _COMPARISONS:
            return ast.Compare(left, [_COMPARISONS[type(op)]], rest)
        case ast.BinOp(left, op, right) if type(op) in _OPERATORS and not _is_text(node):
            return ast.BinOp(left, _OPERATORS[type(op)], right)
        case ast.BoolOp(op, values):
            return ast.BoolOp(ast.And() if isinstance(op, ast.Or) else ast.Or(), values)
        case ast.UnaryOp(ast.Not(), operand):
            return operand
        case ast.Constant(bool(value)):
            return ast.Constant(not value)
        case ast.Constant(int(value)):
            return ast.Constant(value + 1)
        case ast.IfExp(test, body, orelse):
            return ast.IfExp(ast.UnaryOp(ast.Not(), test), body, orelse)
    return None


def _is_text(node: ast.BinOp) -> bool:
    """Joined texts and unions of types are no arithmetic."""
    return any(isinstance(part, ast.JoinedStr) or (isinstance(part, ast.Constant) and isinstance(part.value, str))
               for part in ast.walk(node))  # fmt: skip


def own_tests(file: str) -> list[str]:
    """The test files called like a file, and those that import it or name the pass that it is."""
    module, _, stem = ("triptych." + file.removesuffix(".py").replace("/", ".")).rpartition(".")
    names = [f"{module}.{stem}", f"from {module} import {stem}"] + [stem.replace("_", "-")] * ("_" in stem)
    tests = {path: path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("tests/**/test_*.py"))}
    found = (path for path, text in tests.items() if path.stem == f"test_{stem}" or any(name in text for name in names))
    return [path.relative_to(ROOT).as_posix() for path in found]


def room_tests(file: str) -> list[str]:
    room = next(room for room in sorted(ROOMS, key=len, reverse=True) if file.startswith(room + "/"))
    return list(ROOMS[room])


@contextmanager
def changed_tree(mutant: Mutant) -> Iterator[dict[str, str]]:
    """An environment in which Python imports the changed package and nothing is cached."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "src"
        shutil.copytree(ROOT / "src", tree)  # with what Python has compiled, which holds for all but the changed file
        path = tree / "triptych" / mutant.file
        source = path.read_bytes()
        path.write_bytes(source[: mutant.start] + mutant.after.encode() + source[mutant.end :])
        own = {"PYTHONPATH": str(tree), "XDG_CACHE_HOME": folder, "PYTHONDONTWRITEBYTECODE": ""}
        yield {**os.environ, **own}


def killed_by(mutant: Mutant, judges: list[str]) -> str:
    """The tests that notice, or nothing."""
    with changed_tree(mutant) as environment:
        if judges:
            return "those tests" if _fails(judges, environment) else ""
        own = own_tests(mutant.file)
        for tests in (own, [test for test in room_tests(mutant.file) if test not in own]):
            if tests and _fails(tests, environment):
                return "its tests" if tests is own else "the tests of its room"
    return ""


def _fails(tests: list[str], environment: dict[str, str]) -> bool:
    command = (sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--no-cov", *tests)
    try:
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=PATIENCE).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="files whose path has this text")
    parser.add_argument("--tests", nargs="+", default=[], help="which are asked, instead of those of the changed file")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    files = [path for room in ROOMS for path in sorted((PACKAGE / room).rglob("*.py"))]
    chosen = [path for path in files if options.only in path.relative_to(PACKAGE).as_posix()]
    every = [mutant for path in chosen for mutant in mutants(path)]
    drawn = random.Random(options.seed).sample(every, min(options.count, len(every)))
    survivors: list[Mutant] = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for number, (mutant, by) in enumerate(
            zip(drawn, pool.map(partial(killed_by, judges=options.tests), drawn), strict=True), start=1
        ):
            if not by:
                survivors.append(mutant)
            print(f"{number}/{len(drawn)} {mutant.file}:{mutant.line} {by or 'SURVIVED'}", file=sys.stderr, flush=True)
    share = 1 - len(survivors) / len(drawn)
    if options.json:
        print(json.dumps({"drawn": len(drawn), "killed": share, "survivors": [asdict(one) for one in survivors]}))
    else:
        print(f"{len(drawn)} of {len(every)} mutants, {share:.1%} killed (wanted {WANTED:.0%}); survivors:")
        for one in survivors:
            print(f"  {one.file}:{one.line}  {one.before}  ->  {one.after}")
    return 0 if share >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
