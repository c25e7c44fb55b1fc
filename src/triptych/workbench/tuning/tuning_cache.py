"""Tuning cache: choices by kernel, problem, device and tools, as JSON of a source tree and of a user.

Whoever reads the same file chooses the same parameters. A look-up never tunes. Which kernel a choice is for is a
digest of its file and of what it imports beside itself, without what is tuned. The text counts as syntax: comments,
blank lines, docstrings and the values to choose from (`TUNE`) change nothing.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from triptych.ir import bindings
from triptych.support.config import config
from triptych.support.dataclass import dataclass
from triptych.support.errors import TriptychError
from triptych.support.forking import import_late
from triptych.support.processors import processor_model, processors

SCHEMA = "triptych.tuned/2"
SUFFIX = ".tuned.json"
"""`gemm.tuned.json` beside `gemm.py` is looked at first."""


class ChoiceFileError(TriptychError, ValueError):
    """A file is none of `triptych tune --export`, or one of a version that is not known."""

    code = "TT0729"


@dataclass(frozen=True, slots=True)
class Problem:
    """What a choice is for. Each part is text that a person can compare."""

    kernel: str
    """The digest of the kernel, without the parameters that are tuned."""
    problem: str
    """Shapes and types, or the bucket that the plan puts them in."""
    device: str
    tools: str

    @property
    def digest(self) -> str:
        """Of all parts."""
        return hashlib.sha256("\0".join(asdict(self).values()).encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class Choice:
    """Parameters, how long a call took with them, and for what."""

    name: str
    """Of the kernel, for people."""
    key: Problem
    config: Mapping[str, Any]
    seconds: float

    @property
    def rank(self) -> tuple[float, str]:
        """Of two for the same problem the lower one is kept, whichever is read first."""
        return self.seconds, json.dumps(dict(self.config), sort_keys=True, default=str)


def host_name() -> str:
    """This host, as choices name it."""
    return f"{processor_model()}, {processors()} processors"


def tool_versions() -> str:
    """What generates code: a choice for other tools is no choice for these."""
    versions = {"triptych": str(import_late("triptych").__version__), **bindings.versions()}
    return ", ".join(f"{name} {version}" for name, version in sorted(versions.items()) if version)


def find_choice(key: Problem, beside: Path | None = None) -> Choice | None:
    """From the source tree first (the file beside the kernel's), then from what the user has tuned; else None."""
    if beside is not None:
        file = beside.with_suffix(SUFFIX)
        found = read_choices(file).get(key.digest) if file.is_file() else None
        if found is not None:
            return found
    file = _store() / f"{key.digest}.json"
    return read_choices(file).get(key.digest) if file.is_file() else None


def keep(choice: Choice) -> None:
    """For every later process of this user. The last search counts here: it knows the machine as it is."""
    write_choices(_store() / f"{choice.key.digest}.json", [choice])


def read_choices(file: str | Path) -> dict[str, Choice]:
    """All choices of a file, by the digest of what they are for."""
    path = Path(file)
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        schema = facts["schema"]
        rows = facts["choices"] if schema == SCHEMA else []
        choices = [Choice(row["name"], Problem(**row["key"]), row["config"], float(row["seconds"])) for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ChoiceFileError(
            f"{path.name} has no choices of triptych tune",
            found=f"{type(error).__name__}: {error}",
            expected=f"a file that `triptych tune --export` wrote, of the schema {SCHEMA}",
        ) from error
    if schema != SCHEMA:
        raise ChoiceFileError(f"{path.name} is of another version", found=str(schema), expected=SCHEMA)
    return {choice.key.digest: choice for choice in choices}


def merged(files: Iterable[str | Path]) -> dict[str, Choice]:
    """The choices of several files; of two for the same the quicker, so that the order of files does not matter."""
    found: dict[str, Choice] = {}
    for file in files:
        for digest, choice in read_choices(file).items():
            if digest not in found or choice.rank < found[digest].rank:
                found[digest] = choice
    return found


def choices_text(choices: Iterable[Choice]) -> str:
    """As a file has them: sorted, so that equal choices are equal files."""
    rows = sorted((asdict(choice) for choice in choices), key=lambda row: (row["name"], *row["key"].values()))
    return json.dumps({"schema": SCHEMA, "choices": rows}, indent=2, default=str) + "\n"


def write_choices(file: Path, choices: Iterable[Choice]) -> None:
    """All at once: a reader sees the old file or the new one."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}")
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        out.write(choices_text(choices))
    os.replace(name, file)


def _store() -> Path:
    return Path(config().cache_root) / "workbench" / "choices"


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
