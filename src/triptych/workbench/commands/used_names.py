"""Which public names a program uses, read from its source: imports with their aliases, and attributes of these.

Nothing is run or imported, so a program for any machine can be asked. A name is a module and one attribute of it:
`cute.nvgpu.cpasync.LoadCacheMode.GLOBAL` uses `cutlass.cute.nvgpu.cpasync.LoadCacheMode`.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from triptych.compat.public_names import BESIDE, HOMES, NOT_HERE_YET, ROOT, public_names
from triptych.workbench.commands.notebooks import SUFFIX, cells

_FOLDERS = 5
"""How far up modules of a program are looked for."""


@dataclass(frozen=True, slots=True)
class Use:
    """A public name where it is used first in a file."""

    name: str
    file: Path
    line: int


def programs(path: Path) -> list[Path]:
    """A file itself with the modules beside it that it imports, or every Python file and notebook in a folder."""
    if path.is_file():
        return list(_with_helpers(path))
    return sorted(file for file in path.rglob("*") if file.suffix in (".py", SUFFIX) and file.is_file())


def _with_helpers(path: Path) -> dict[Path, None]:
    """A program and what it imports of files near it, directly or by what it imports: it needs those names, too."""
    found, pending = {path: None}, [path]
    while pending:
        for module in _imported(pending.pop()):
            helper = _near(path.resolve(), module)
            if helper is not None and helper != path.resolve() and helper not in found:
                found[helper] = None
                pending.append(helper)
    return found


def _near(program: Path, module: str) -> Path | None:
    """The file of a module in the program's folder or one around it, which programs put on the path themselves."""
    if not module or module.partition(".")[0] in sys.stdlib_module_names:
        return None
    places = (folder.joinpath(*module.split(".")) for folder in list(program.parents)[:_FOLDERS])
    files = (file for place in places for file in (place.with_suffix(".py"), place / "__init__.py"))
    return next((file for file in files if file.is_file()), None)


def _imported(file: Path) -> Iterator[str]:
    """The modules that a file may import, by name; from where it is, a relative one is meant the same way."""
    try:
        trees = [ast.parse(text) for text in _texts(file)]
    except (SyntaxError, UnicodeDecodeError, json.JSONDecodeError):
        return  # told when its names are read
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (".".join(filter(None, (node.module, alias.name))) for alias in node.names)


def _texts(file: Path) -> list[str]:
    return [cell.text for cell in cells(file)] if file.suffix == SUFFIX else [file.read_text(encoding="utf-8")]


def uses(file: Path) -> list[Use]:
    """The public names that a file uses, each once; a SyntaxError where it is not Python."""
    reader = _Reader()
    for text in _texts(file):
        reader.visit(ast.parse(text))
    return [Use(name, file, line) for name, line in reader.found.items()]


def canonical(dotted: str) -> str | None:
    """The public name that a dotted path uses: the module in it and one attribute; None for a mere module."""
    words = dotted.split(".")
    for count in range(len(words), 0, -1):
        module = ".".join(words[:count])
        if module in _MODULES:
            return f"{_first_name(module)}.{words[count]}" if count < len(words) else None
    return None


def _first_name(module: str) -> str:
    """Of several names of one module, the one that stands for all: the first of those with the fewest words."""
    home = HOMES.get(module)
    names = [public for public, other in HOMES.items() if other == home]
    return min(names, key=lambda public: public.count(".")) if home is not None else module


def _modules() -> Iterator[str]:
    yield from (*HOMES, *NOT_HERE_YET, *BESIDE)
    for name in public_names():
        module = name.rpartition(".")[0]
        if any(module.startswith(f"{package}.") for package in BESIDE):
            yield module


_MODULES = frozenset(_modules())


class _Reader(ast.NodeVisitor):
    """Follows what names of the file stand for under `cutlass`."""

    def __init__(self) -> None:
        self.found: dict[str, int] = {}
        self._meanings: dict[str, str] = {}

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name.partition(".")[0] == ROOT:
                self._meanings[alias.asname or ROOT] = alias.name if alias.asname else ROOT

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level or not node.module or node.module.partition(".")[0] != ROOT:
            return
        for alias in node.names:
            if alias.name == "*":  # which names it brings is known only where they are
                continue
            meaning = f"{node.module}.{alias.name}"
            self._meanings[alias.asname or alias.name] = meaning
            self._use(meaning, node.lineno)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        meaning = self._meaning(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name) and meaning in _MODULES:
                self._meanings[target.id] = str(meaning)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        meaning = self._meaning(node)
        if meaning is None:
            self.generic_visit(node)
        else:
            self._use(meaning, node.lineno)

    def _meaning(self, node: ast.expr) -> str | None:
        words: list[str] = []
        while isinstance(node, ast.Attribute):
            words.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self._meanings:
            return None
        return ".".join((self._meanings[node.id], *reversed(words)))

    def _use(self, dotted: str, line: int) -> None:
        name = canonical(dotted)
        if name is not None:
            self.found.setdefault(name, line)
