"""Public repositories of CuTe DSL kernels: which names they use are here, and which of their modules import.

    python -m benchmarks.third_party FOLDER ... [--beside FOLDER] [--why]

FOLDER is a checkout; nothing of it is run but its modules' own statements, each module in a process of its own, as
under `TRIPTYCH_COMPAT=1`. What a module needs beside the language and torch, and what does not import without a GPU, is
replaced by objects that answer anything, so that a failure is one of the language. `--beside` puts a folder on the
path, as a package that others build on. With `--why` each module that fails is listed with the first cause, and each
name that is missing with the files that use it.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.abc
import importlib.machinery
import json
import os
import re
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from triptych import compat
from triptych.workbench.commands.coverage import coverage

PATIENCE = 120
"""Seconds for one module; what it imports is imported, too."""
_KERNEL = re.compile(rb"^\s*(import|from)\s+cutlass\b", re.MULTILINE)
_RELATIVE = re.compile(rb"^\s*from\s+\.", re.MULTILINE)
_LANGUAGE = ("cutlass", "triptych")


class Anything:
    """Stands for whatever an absent package would give: a decorator, a class, a number, a module."""

    def __init__(self, name: str = "anything") -> None:
        self.__name__ = self.__qualname__ = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Anything(name)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """As a decorator it gives back what it is put on."""
        return arguments[0] if len(arguments) == 1 and not options and callable(arguments[0]) else Anything()

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (object,) if not any(isinstance(base, type) for base in bases) else ()

    def __getitem__(self, key: object) -> Any:
        return Anything()

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __or__(self, other: object) -> Any:
        return Anything()

    __ror__ = __add__ = __radd__ = __sub__ = __mul__ = __rmul__ = __truediv__ = __floordiv__ = __or__

    def __lt__(self, other: object) -> bool:
        return False

    __le__ = __gt__ = __ge__ = __lt__
    __enter__ = __call__

    def __exit__(self, *error: object) -> None:
        return None

    def __int__(self) -> int:
        return 0

    __index__ = __int__


class _Absent(ModuleType):
    """A module that is not there, with any attribute."""

    __path__: list[str] = []  # noqa: RUF012 - modules of it can be imported
    __version__ = "0.0.0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Anything(name)


class Absences(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Last in `sys.meta_path`: makes what nobody has found, except of the language."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> Any:
        if fullname.partition(".")[0] in _LANGUAGE or _is_asked_by_a_library():
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: Any) -> ModuleType:
        return _Absent(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        return None


def _is_asked_by_a_library() -> bool:
    """Whether an installed package wants the module: those know what to do without it."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and "importlib" in frame.f_code.co_filename:
        frame = frame.f_back
    return frame is not None and "site-packages" in frame.f_code.co_filename


class Tolerant(importlib.abc.MetaPathFinder):
    """First in `sys.meta_path`: a module of the checkout that names no kernels may fail, and is then absent."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)

    def find_spec(self, fullname: str, path: Any = None, target: object = None) -> Any:
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is None or spec.loader is None or not (spec.origin or "").startswith(self._root):
            return None
        if not _KERNEL.search(Path(str(spec.origin)).read_bytes()):
            spec.loader = _TolerantLoader(spec.loader)
        return spec


class _TolerantLoader(importlib.abc.Loader):
    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: Any) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        try:
            self._loader.exec_module(module)
        except Exception as error:
            if _of_language(error) is not None:
                raise
            module.__class__ = _Absent


@dataclass(frozen=True)
class Module:
    """How the import of a module ended: empty where it did not fail."""

    file: Path
    cause: str


def kernel_files(folder: Path) -> list[Path]:
    """The files that import the language."""
    return [file for file in sorted(folder.rglob("*.py")) if _KERNEL.search(file.read_bytes())]


def dotted_name(file: Path, folder: Path) -> tuple[Path, str]:
    """What to put on the path, and the name by which the file is a module then: in the outermost package around it."""
    root = file.parent
    while ((root / "__init__.py").exists() or _RELATIVE.search(file.read_bytes())) and root != folder:
        root = root.parent
    return root, ".".join(file.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def _of_language(error: BaseException | None) -> BaseException | None:
    """The failure among an error's causes that the language has raised, or that is about it."""
    while error is not None:
        if getattr(error, "code", "") or str(getattr(error, "name", "")).partition(".")[0] in _LANGUAGE:
            return error
        error = error.__cause__ or error.__context__
    return None


def _cause(error: BaseException) -> str:
    first = _of_language(error) or error
    frames = [frame for frame in traceback.extract_tb(first.__traceback__) if "importlib" not in frame.filename]
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    return f"{type(first).__name__}: {str(first).splitlines()[0] if str(first) else ''} ({place})"


def import_all(folder: Path, files: Sequence[Path]) -> Iterator[Module]:
    """Each in a process of its own, which has the language and torch already."""
    for file in files:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            _import_in_child(file, folder, writing)
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8", errors="replace") as said:
            cause = said.read()
        _, status = os.waitpid(child, 0)
        yield Module(file, cause if cause or not status else f"the process ended with status {status}")


def _import_in_child(file: Path, folder: Path, writing: int) -> None:
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    cause = ""
    try:
        root, name = dotted_name(file, folder)
        for ours in [each for each in sys.modules if each.partition(".")[0] == "benchmarks"]:
            del sys.modules[ours]  # a checkout may have a package of that name, too
        sys.path[:0] = [str(root), str(file.parent)] if root != file.parent else [str(root)]
        sys.path.append(str(folder))  # benchmarks and scripts import the package that they lie beside
        sys.meta_path.insert(0, Tolerant(folder))
        sys.meta_path.insert(-1, Absences())  # before the finder that says what to install
        signal.signal(signal.SIGALRM, _out_of_patience)
        signal.alarm(PATIENCE)
        importlib.import_module(name)
    except BaseException as error:
        cause = _cause(error)
    os.write(writing, cause.encode())
    os._exit(0)


def _out_of_patience(*_: object) -> None:
    raise TimeoutError(f"not imported after {PATIENCE} s")


def row(folder: Path, why: bool) -> Iterator[str]:
    """The row of a repository, and what is behind it."""
    facts = json.loads(coverage([folder], as_json=True))
    missing = [name for name in facts["names"] if not name["is_here"]]
    machine = sum(name["tier"] in ("T5", "experimental") for name in missing)
    files = kernel_files(folder)
    modules = list(import_all(folder, files))
    failed = [module for module in modules if module.cause]
    here = len(facts["names"]) - len(missing)
    yield (
        f"| {folder.name} | {facts['files']} | {len(facts['complete_files'])} | {here} | {len(missing)} ({machine}) | "
        f"{len(modules) - len(failed)} of {len(modules)} |"
    )
    if why:
        causes = Counter(module.cause for module in failed)
        yield from (f"    {count:4} {cause}" for cause, count in causes.most_common())
        by_use = sorted(missing, key=lambda name: -name["files"])
        yield from (f"    missing in {n['files']:3} files: {n['name']} [{n['tier']}] {n['first']}" for n in by_use)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    parser.add_argument("--beside", type=Path, action="append", default=[], metavar="FOLDER")
    parser.add_argument("--why", action="store_true")
    given = parser.parse_args()
    sys.path[:0] = [str(folder.resolve()) for folder in given.beside]
    print(
        "| repository | files | of these complete | names here | missing (Blackwell, experimental) | modules import |"
    )
    print("|---|---|---|---|---|---|")
    with compat.activated():
        for name in ("torch", "cutlass.cute", "cutlass.utils", "cutlass.pipeline", "cutlass.torch"):
            importlib.import_module(name)
        for folder in given.folders:
            for line in row(folder.resolve(), given.why):
                print(line, flush=True)


if __name__ == "__main__":
    main()
