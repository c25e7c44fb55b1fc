"""`triptych coverage PATH...`: which public names programs use, which of them are here, and what comes next.

Names are read from the source: imports with their aliases, and attributes of these. Nothing is run or imported, so a
program for any machine can be asked. A name is a module and one attribute of it:
`cute.nvgpu.cpasync.LoadCacheMode.GLOBAL` uses `cutlass.cute.nvgpu.cpasync.LoadCacheMode`.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from triptych.compat import activated
from triptych.compat.public_names import (
    BESIDE,
    HOMES,
    NOT_HERE_YET,
    ROOT,
    TIERS,
    WITH_LIBRARIES,
    public_names,
    tier_of,
    tier_of_module,
    when,
)
from triptych.support.dataclass import dataclass
from triptych.support.errors import TriptychError
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


OTHER = "other"
"""The tier of names that no public example uses."""


class CoverageError(TriptychError, ValueError):
    """`triptych coverage` was asked about a path that is not there."""

    code = "TT0709"


@dataclass(frozen=True, slots=True)
class Name:
    """A public name that programs use."""

    name: str
    tier: str
    is_here: bool
    files: int
    first: str
    """Where it is used first, as FILE:LINE."""
    next: str
    """What to do about it; empty for a name that is here."""


def coverage(paths: Sequence[Path], *, as_json: bool = False) -> str:
    """The names that the programs under the paths use, as text or JSON."""
    for path in paths:
        if not path.exists():
            raise CoverageError(f"there is no {path}", expected="a file or a folder of programs")
    read, unreadable = _read([file for path in paths for file in programs(path)])
    names = _names(read)
    here = {name.name for name in names if name.is_here}
    complete = [file for file, used in read.items() if used and {use.name for use in used} <= here]
    using = [file for file, used in read.items() if used]
    if as_json:
        facts = {"files": len(using), "complete_files": sorted(map(str, complete)), "unreadable": unreadable}
        return json.dumps({**facts, "names": [asdict(name) for name in names]}, indent=2)
    lines = [*_table(names), ""]
    lines += [f"{len(using)} of {len(read)} files use the language; {len(complete)} of them only names that are here"]
    lines += [f"not Python: {file}" for file in unreadable]
    return "\n".join([*lines, *_missing([name for name in names if not name.is_here])])


def _missing(names: Sequence[Name]) -> Iterator[str]:
    """What is not here, under its tier and when that comes."""
    for (tier, after), group in groupby(sorted(names, key=_by_tier), key=lambda name: (name.tier, name.next)):
        title = f", {TIERS[tier].title}" if tier in TIERS else ""
        yield f"\nnot here: {tier}{title} ({after})"
        rows = [(f"  {name.name}", f"{name.files} file{'s' * (name.files > 1)}", name.first) for name in group]
        yield from _aligned(rows)


def _read(files: Sequence[Path]) -> tuple[dict[Path, list[Use]], list[str]]:
    read: dict[Path, list[Use]] = {}
    unreadable: list[str] = []
    for file in files:
        try:
            read[file] = uses(file)
        except (SyntaxError, UnicodeDecodeError, json.JSONDecodeError):
            unreadable.append(str(file))
    return read, unreadable


def _names(read: dict[Path, list[Use]]) -> list[Name]:
    """By tier and by what comes next, and then the name first that most files use."""
    used: dict[str, list[Use]] = {}
    for found in read.values():
        for use in found:
            used.setdefault(use.name, []).append(use)
    with activated():
        return sorted((_name(name, where) for name, where in used.items()), key=_by_tier)


def _by_tier(name: Name) -> tuple[int, str, int, str]:
    return [*TIERS, OTHER].index(name.tier), name.next, -name.files, name.name


def _name(name: str, where: Sequence[Use]) -> Name:
    module = name.rpartition(".")[0]
    tier = tier_of(name) or (None if module in HOMES else tier_of_module(module)) or OTHER
    here = _is_here(name)
    after = "" if here else when(name, tier) if tier in TIERS else "is it spelt so?"
    return Name(name, tier, here, len(where), f"{where[0].file}:{where[0].line}", after)


def _is_here(name: str) -> bool:
    """Whether a program that asks for the name gets it; of a module beside a library that is absent, what it lists."""
    module, _, attribute = name.rpartition(".")
    if module in WITH_LIBRARIES and importlib.util.find_spec(module.rpartition(".")[2]) is None:
        return attribute in _listed(HOMES[module])
    try:
        attrgetter(name.removeprefix(f"{ROOT}."))(importlib.import_module(ROOT))
    except (AttributeError, ImportError):
        return False
    return True


def _listed(module: str) -> list[str]:
    """The names that a module imports, which cannot be imported itself."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return []
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    return [
        alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    ]


def _table(names: Sequence[Name]) -> list[str]:
    rows = [("tier", "", "names used", "here", "not here")]
    for tier in (*TIERS, OTHER):
        of_tier = [name for name in names if name.tier == tier]
        if of_tier:
            here = sum(name.is_here for name in of_tier)
            title = TIERS[tier].title if tier in TIERS else "names that no public example uses"
            rows.append((tier, title, str(len(of_tier)), str(here), str(len(of_tier) - here)))
    here = sum(name.is_here for name in names)
    rows.append(("all", "", str(len(names)), str(here), str(len(names) - here)))
    return list(_aligned(rows))


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
