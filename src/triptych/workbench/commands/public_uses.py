"""Uses of public names, read from sources of programs: imports with their aliases, and attributes of these.

A name is a module and one attribute of it: `cute.nvgpu.cpasync.LoadCacheMode.GLOBAL` uses
`cutlass.cute.nvgpu.cpasync.LoadCacheMode`. Names that a program takes from a module near it are followed there. What a
class lacks is a name of its own, `cutlass.cute.Tensor.nothing`, wherever the class of an object is beyond doubt.

Only files that can name the language are parsed, each once: a tree of thousands of files has a few dozen of them.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from triptych.compat.public_names import BESIDE, HOMES, NOT_HERE_YET, ROOT, public_names
from triptych.support.dataclass import dataclass
from triptych.workbench.commands.known_classes import Classes
from triptych.workbench.commands.notebooks import SUFFIX, cells

_FOLDERS = 5
"""How far up modules of a program are looked for."""
_FROM = re.compile(r"^[ \t]*from[ \t]+([.\w]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n]*)", re.MULTILINE)
_IMPORT = re.compile(r"^[ \t]*import[ \t]+([^\n#;]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Use:
    """A public name where it is used first in a file."""

    name: str
    file: Path
    line: int


class Sources:
    """The files of one question: texts are read once, and trees made once of those that are asked for."""

    def __init__(self) -> None:
        self.parsed: list[Path] = []
        self._texts: dict[Path, tuple[str, ...]] = {}
        self._readers: dict[Path, _Reader | SyntaxError | ValueError] = {}
        self._mentioned: dict[Path, bool] = {}
        self._candidates: set[Path] = set()
        self._places: dict[tuple[Path, str], Path | None] = {}

    def programs(self, path: Path) -> list[Path]:
        """A file itself with the modules beside it that it imports, or every Python file and notebook in a folder."""
        if path.is_file():
            return list(self._with_helpers(path))
        return sorted(file for file in path.rglob("*") if file.suffix in (".py", SUFFIX) and file.is_file())

    def that_can_name(self, files: Iterable[Path]) -> list[Path]:
        """Those of the files that name the language, or take one of its names from a file that does."""
        rest = list(files)
        found = [file for file in rest if self._mentions(file)]
        news = found
        while news:
            giving = {_module_word(file): file for file in news if self._is_python(file) and self.exports(file)}
            words = {word: set(self.exports(file)) for word, file in giving.items()}
            rest = [file for file in rest if file not in set(news)]
            news = [file for file in rest if self._takes(file, words)]
            self._candidates |= {file.resolve() for file in news}
            found = found + news
        return sorted(found)

    def uses(self, file: Path) -> list[Use]:
        """The public names that a file uses, each once; a SyntaxError where it is not Python."""
        found = self._reader(file).found.items()
        own = {name for reader in self._readers.values() if isinstance(reader, _Reader) for name in reader.written}
        return [Use(name, file, line) for name, line in found if not (_is_of_a_class(name) and _last(name) in own)]

    def exports(self, file: Path) -> dict[str, str]:
        """What other modules can take from this one, and what it stands for; nothing while two import each other."""
        return self._reader(file).exports

    def local(self, file: Path, module: str, level: int = 0) -> Path | None:
        """The file of a module that a program imports from near it, if it can name the language."""
        folder = file.resolve().parent
        if level:
            found = _file_of(folder.parents[level - 2] if level > 1 else folder, module)
        else:
            found = self._near(file.resolve(), module)
        if found is None or found == file.resolve() or not (found in self._candidates or self._mentions(found)):
            return None
        return found if self._is_python(found) else None

    def _reader(self, file: Path) -> _Reader:
        key = file.resolve()
        if key not in self._readers:
            self._parse(file, key)
        reader = self._readers[key]
        if isinstance(reader, Exception):
            raise reader
        return reader

    def _parse(self, file: Path, key: Path) -> None:
        self.parsed.append(file)
        try:
            trees = [ast.parse(text) for text in self._text(file)]
        except (SyntaxError, ValueError) as error:  # a text that is none, a notebook that is none
            self._readers[key] = error
            return
        self._readers[key] = reader = _Reader(self, file)  # known before it is read: modules import each other
        for tree in trees:
            reader.read(tree)

    def _text(self, file: Path) -> tuple[str, ...]:
        if file not in self._texts:
            whole = file.read_text(encoding="utf-8") if file.suffix != SUFFIX else None
            self._texts[file] = tuple(cell.text for cell in cells(file)) if whole is None else (whole,)
        return self._texts[file]

    def _is_python(self, file: Path) -> bool:
        try:
            self._reader(file)
        except (SyntaxError, ValueError):
            return False
        return True

    def _mentions(self, file: Path) -> bool:
        if file not in self._mentioned:
            self._mentioned[file] = ROOT.encode() in file.read_bytes()
        return self._mentioned[file]

    def _takes(self, file: Path, given: dict[str, set[str]]) -> bool:
        """Whether a file that does not mention the language imports a name of it from one that does."""
        try:
            texts = self._text(file)
        except ValueError:
            return False
        return any(_takes(text, given) for text in texts)

    def _with_helpers(self, path: Path) -> dict[Path, None]:
        """A program and what it imports of files near it, directly or by what it imports: it needs those names, too."""
        found, pending = {path: None}, [path]
        while pending:
            file = pending.pop()
            for module in _imported(self._text(file)):
                helper = self._near(path.resolve(), module.lstrip("."))
                if helper is not None and helper != path.resolve() and helper not in found:
                    found[helper] = None
                    pending.append(helper)
        return found

    def _near(self, program: Path, module: str) -> Path | None:
        """The file of a module in the program's folder or one around it, which programs put on the path themselves."""
        if not module or module.partition(".")[0] in {*sys.stdlib_module_names, ROOT}:
            return None
        asked = (program.parent, module)
        if asked not in self._places:
            folders = list(program.parents)[:_FOLDERS]
            self._places[asked] = next(filter(None, (_file_of(folder, module) for folder in folders)), None)
        return self._places[asked]


def _is_of_a_class(name: str) -> bool:
    return canonical(name) != name


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _file_of(folder: Path, module: str) -> Path | None:
    place = folder.joinpath(*module.split(".")) if module else folder
    files = (place / "__init__.py",) if not module else (place.with_suffix(".py"), place / "__init__.py")
    return next((file for file in files if file.is_file()), None)


def _module_word(file: Path) -> str:
    return file.parent.name if file.stem == "__init__" else file.stem


def _from_imports(text: str) -> Iterator[tuple[str, set[str]]]:
    for found in _FROM.finditer(text):
        yield found[1], {part.split()[0] for part in re.sub(r"#[^\n]*|[()\\]", "", found[2]).split(",") if part.split()}


def _takes(text: str, given: dict[str, set[str]]) -> bool:
    """Whether a text imports one of the names that modules give, each known by its last word."""
    for module, names in _from_imports(text):
        word = _last(module)
        if word in given and ("*" in names or given[word] & names):
            return True
        if any(f".{other}" in text for name in names & given.keys() for other in given[name]):
            return True
    words = (_last(part.split()[0]) for found in _IMPORT.finditer(text) for part in found[1].split(",") if part.split())
    return any(f".{other}" in text for word in words if word in given for other in given[word])


def _imported(texts: Iterable[str]) -> Iterator[str]:
    """The modules that a file may import, by name; from where it is, a relative one is meant the same way."""
    for text in texts:
        for found in _IMPORT.finditer(text):
            yield from (part.split()[0] for part in found[1].split(",") if part.split())
        for module, names in _from_imports(text):
            yield module
            yield from (f"{module}.{name}" if module.strip(".") else name for name in sorted(names))


def canonical(dotted: str) -> str | None:
    """The public name that a dotted path uses: the module in it and one attribute; None for a mere module."""
    words = dotted.split(".")
    for count in range(len(words), 0, -1):
        module = ".".join(words[:count])
        if module in _MODULES:
            return f"{_first_name(module)}.{words[count]}" if count < len(words) else None
    return None


@cache
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
    """Follows what names of a file stand for under `cutlass`."""

    def __init__(self, sources: Sources, file: Path) -> None:
        self.found: dict[str, int] = {}
        self.exports: dict[str, str] = {}
        self.written: set[str] = set()
        """Methods and attributes of the program's own classes, which may be derived from public ones."""
        self._sources = sources
        self._file = file
        self._meanings: dict[str, str] = {}
        self._files: dict[str, Path] = {}
        self._classes = Classes(self.meaning)

    def read(self, tree: ast.Module) -> None:
        """All that stands in a module or a cell."""
        self.visit(tree)
        for name in _bound_at_the_top(tree.body):
            if name in self._meanings:
                self.exports[name] = self._meanings[name]

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name.partition(".")[0] == ROOT:
                self._meanings[alias.asname or ROOT] = alias.name if alias.asname else ROOT
            elif alias.asname or "." not in alias.name:
                self._local_module(alias.asname or alias.name, self._sources.local(self._file, alias.name))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if node.level or module.partition(".")[0] != ROOT:
            self._from_near(node, module)
            return
        for alias in node.names:
            if alias.name == "*":  # which names it brings is known only where they are
                continue
            meaning = f"{module}.{alias.name}"
            self._meanings[alias.asname or alias.name] = meaning
            self._use(meaning, node.lineno)

    def _from_near(self, node: ast.ImportFrom, module: str) -> None:
        """Names of the language that a module near this one hands on, and modules that do."""
        giver = self._sources.local(self._file, module, node.level)
        given = self._sources.exports(giver) if giver is not None else {}
        for alias in node.names:
            if alias.name == "*":
                self._meanings |= {name: meaning for name, meaning in given.items() if not name.startswith("_")}
            elif alias.name in given:
                self._meanings[alias.asname or alias.name] = given[alias.name]
                self._use(given[alias.name], node.lineno)
            else:
                deeper = ".".join(filter(None, (module, alias.name)))
                self._local_module(alias.asname or alias.name, self._sources.local(self._file, deeper, node.level))

    def _local_module(self, name: str, file: Path | None) -> None:
        if file is not None and self._sources.exports(file):
            self._files[name] = file

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        meaning = self.meaning(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name) and meaning in _MODULES:
                self._meanings[target.id] = str(meaning)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.written.add(node.name)
        with self._classes.inside(node):
            self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        with self._classes.inside(node):
            self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        meaning = self.meaning(node)
        if meaning is not None:
            self._use(meaning, node.lineno)
            return
        if isinstance(node.ctx, ast.Store):
            self.written.add(node.attr)
        lacking = self._classes.lacks(node)
        if lacking is not None:
            self.found.setdefault(lacking, node.lineno)
        self.generic_visit(node)

    def meaning(self, node: ast.expr) -> str | None:
        """What an expression stands for, if it is a name and attributes of it."""
        words: list[str] = []
        while isinstance(node, ast.Attribute):
            words.insert(0, node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        if node.id in self._meanings:
            return ".".join((self._meanings[node.id], *words))
        given = self._sources.exports(self._files[node.id]) if node.id in self._files and words else {}
        return ".".join((given[words[0]], *words[1:])) if words and words[0] in given else None

    def _use(self, dotted: str, line: int) -> None:
        name = canonical(dotted)
        if name is not None:
            self.found.setdefault(name, line)
            lacking = self._classes.lacking(dotted, name)
            if lacking is not None:
                self.found.setdefault(lacking, line)


def _bound_at_the_top(body: Iterable[ast.stmt]) -> Iterator[str]:
    """The names that a module has: what its statements bind outside of functions and classes."""
    for statement in body:
        match statement:
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (alias.asname or alias.name.partition(".")[0] for alias in names)
            case ast.Assign(targets=targets):
                yield from (target.id for target in targets if isinstance(target, ast.Name))
            case ast.If(body=inner, orelse=other):
                yield from _bound_at_the_top([*inner, *other])
            case ast.Try(body=inner, handlers=handlers, orelse=other, finalbody=last):
                yield from _bound_at_the_top([*inner, *(s for h in handlers for s in h.body), *other, *last])
