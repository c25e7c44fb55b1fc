"""Import hook for `cutlass`: Python's import system finds modules of Triptych under public names, if this is active.

It is active under `triptych run` and its like, otherwise never. What a program names is loaded. The module objects stay
the same, only their class changes, so identity, `isinstance` and what a program does to a module mean the same under
both names; a public name that is not here yet is a coded error. `deactivate` puts all of it back.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dis import opmap
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import FrameType, ModuleType
from typing import Any, TypeVar

from triptych.compat.errors import NotHereYetError, NotImportableYetError, OtherPackageError
from triptych.compat.public_names import (
    BESIDE,
    HOMES,
    NOT_HERE_YET,
    ROOT,
    TIERS,
    public_names,
    tier_of,
    tier_of_module,
    when,
)
from triptych.diagnostics.likely_mistakes import missing_name
from triptych.support.config import config
from triptych.support.forking import import_late
from triptych.support.tracebacks import caller

Absence = TypeVar("Absence", NotHereYetError, NotImportableYetError)

_IMPORT_FROM = opmap["IMPORT_FROM"]
_EXPERIMENTAL = "experimental"
_BESIDE = tuple(f"{package}." for package, tier in BESIDE.items() if tier == _EXPERIMENTAL)
"""Packages whose modules may all be imported: which of them there are changes from release to release."""
_PUBLIC = {home: public for public, home in reversed(HOMES.items())}
"""Each module of Triptych by its public name; the first in the table, which is the shortest."""


class AliasedModule(ModuleType):
    """A module that has a public name; where it lacks an attribute, the table of public names is asked."""

    __path__ = []  # noqa: RUF012 - a public package may be one module here: what is imported of it, the finder knows

    def __getattr__(self, name: str) -> Any:
        try:
            return _absent(self, name, sys._getframe(1))
        except (AttributeError, ImportError) as error:
            error.__traceback__ = None  # a bare `raise` adds no entry for this frame, which is none of the user's
            raise


def alias(module: ModuleType) -> None:
    """From now on the module answers for its public name."""
    module.__class__ = AliasedModule


def restore(module: ModuleType) -> None:
    """An ordinary module again, without the attributes that imports of its further public names have set."""
    public, own = _PUBLIC.get(module.__name__), vars(module).get("__all__", ())
    for child in (*HOMES, *NOT_HERE_YET):
        parent, _, name = child.rpartition(".")
        if parent == public and name not in own and HOMES.get(child) != f"{module.__name__}.{name}":
            vars(module).pop(name, None)
    module.__class__ = ModuleType


def without_a_home(public: str) -> ModuleType:
    """A module of which nothing is here yet."""
    module = AliasedModule(public, "Nothing of this public module is here yet.")
    module.__path__ = []  # modules of it can be imported
    return module


def _absent(module: AliasedModule, name: str, frame: FrameType) -> Any:
    """A module by its public name; otherwise the error for a name that is not here, or that nobody has."""
    public = _PUBLIC.get(module.__name__, module.__name__)
    if name.startswith("__"):
        raise AttributeError(f"module {public!r} has no attribute {name!r}", name=name, obj=module)
    child = f"{public}.{name}"
    if child in HOMES or child in NOT_HERE_YET:
        return importlib.import_module(child)
    tier = BESIDE.get(child) or public_names().get(child) or tier_of_module(child)
    if tier is None and child.startswith(_BESIDE):
        tier = _EXPERIMENTAL
    if tier is None and public in NOT_HERE_YET:
        tier = tier_of(child) or tier_of_module(public)
    if tier is None:
        raise missing_name(public, name, dir(module))
    if tier == _EXPERIMENTAL:
        from triptych.compat.later import Later  # noqa: PLC0415 - few programs have such a name

        return Later(child, lambda: not_here(child, tier, NotHereYetError))
    # `from m import name` turns an AttributeError into one that says nothing of tiers.
    if frame.f_code.co_code[max(frame.f_lasti, 0)] == _IMPORT_FROM:
        raise not_here(child, tier, NotImportableYetError)
    raise not_here(child, tier, NotHereYetError)


def not_here(name: str, tier: str, error: type[Absence]) -> Absence:
    """The error for a public name that is not here yet."""
    return error(
        f"`{name}` is not here yet: it belongs to tier {tier}, {TIERS[tier].title}",
        span=caller(),
        found=name,
        expected="a public name that is here; `triptych coverage PATH` lists those that a program uses",
        instead=f"nothing yet: {when(name, tier)}",
    )


_LATE_HOMES = frozenset(home for public, home in HOMES.items() if public != ROOT)
"""Modules with a public name that are loaded when a program names them, under either name."""


class CompatFinder(MetaPathFinder):
    """First in `sys.meta_path`: nobody else may find what is under `cutlass`, where the files of Triptych lie."""

    def __init__(self) -> None:
        self._aliased: dict[str, ModuleType] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A spec for each name in the table; the error that names its tier for a public module that is not here."""
        if fullname in _LATE_HOMES:
            return self._found_later(fullname, path)
        if fullname.partition(".")[0] != ROOT:
            return None
        if fullname in HOMES or fullname in NOT_HERE_YET or fullname.startswith(_BESIDE):
            return ModuleSpec(fullname, _AliasLoader(self._aliased))
        try:
            raise _refusal(fullname)
        except ImportError as error:
            error.__traceback__ = None  # a bare `raise` adds no entry for this frame, which is none of the user's
            raise

    def _found_later(self, home: str, path: Sequence[str] | None) -> ModuleSpec | None:
        """A module that `triptych.NAME` loads by itself has its public name from then on too."""
        spec = PathFinder.find_spec(home, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _LateLoader(spec.loader, self._aliased)
        return spec

    def forget(self) -> None:
        """Take every module back out of the process under its public names."""
        for name in [name for name in sys.modules if name.partition(".")[0] == ROOT]:
            del sys.modules[name]
        for module in self._aliased.values():
            restore(module)
        self._aliased.clear()


class _AliasLoader(Loader):
    """Gives the import system a module that exists, and leaves it as it is."""

    def __init__(self, aliased: dict[str, ModuleType]) -> None:
        self._aliased = aliased
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module behind the public name. The import system now writes its `__spec__`, which is kept."""
        home = HOMES.get(spec.name)
        if home is None:
            return without_a_home(spec.name)
        module = importlib.import_module(home)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is run: the module has been, under its own name."""
        if self._spec is None:
            return
        module.__spec__ = self._spec
        self._aliased[module.__name__] = module
        alias(module)
        if module.__name__ == HOMES[ROOT]:
            for public, home in HOMES.items():
                if public != ROOT and home in sys.modules:
                    importlib.import_module(public)


class _LateLoader(Loader):
    """Loads as the loader it holds would, which then stands in its place."""

    def __init__(self, loader: Loader, aliased: dict[str, ModuleType]) -> None:
        self._loader, self._aliased = loader, aliased

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As Python makes modules of files."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's file, and give the module its public name."""
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._aliased[module.__name__] = module
        alias(module)


def _refusal(name: str) -> ImportError:
    beside = (tier for package, tier in BESIDE.items() if name == package or name.startswith(f"{package}."))
    tier = next(beside, None) or tier_of_module(name)
    if tier is None:
        return ModuleNotFoundError(f"No module named {name!r}", name=name)
    return not_here(name, tier, NotImportableYetError)


_PARTS = (
    "triptych.compat.torch_on_cpu",
    "triptych.compat.cuda_bindings",
    "triptych.compat.several_gpus",
    "triptych.compat.leniency",
    "triptych.compat.absent_packages",
)
"""What else is other while programs for GPUs run here: each has `install`, which gives what undoes it."""

_IMPORT = re.compile(rf"^\s*(from\s+|import\s+([\w.]+(\s+as\s+\w+)?\s*,\s*)*){ROOT}\b", re.MULTILINE)

_UNDO: list[Callable[[], None]] = []
"""What puts the process back; empty: not active."""


def is_active() -> bool:
    """Whether programs that import `cutlass` get Triptych."""
    return bool(_UNDO) or _start() is not None


# Any: `triptych_compat`, which lies beside the package.
def _start() -> Any:
    """What waits for the first import of `cutlass`, since the process started with `TRIPTYCH_COMPAT`."""
    start: Any = sys.modules.get("triptych_compat")
    return start if start is not None and start.is_waiting() else None


def imports_public_names(text: str) -> bool:
    """Whether the text of a program imports `cutlass`, alone or among others."""
    return _IMPORT.search(text) is not None


def activate() -> None:
    """Let programs written for the public CuTe DSL run here: `import cutlass` gives Triptych from now on."""
    if _UNDO:
        return
    if (start := _start()) is not None:
        start.leave()
    other = sys.modules.get(ROOT)
    if other is not None:
        raise OtherPackageError(
            f"the package `{ROOT}` is imported already, so it cannot be Triptych",
            found=str(getattr(other, "__file__", None) or other),
            expected=f"a process that has not imported `{ROOT}`",
            instead="`python -m triptych run SCRIPT`, or `triptych.compat.activate()` before the first import of it",
        )
    finder = CompatFinder()
    sys.meta_path.insert(0, finder)
    _UNDO.extend((finder.forget, lambda: sys.meta_path.remove(finder)))
    try:
        for part in _PARTS:
            _UNDO.append(import_late(part).install())
    except BaseException:
        deactivate()
        raise


def deactivate() -> None:
    """Put everything back: nothing of `cutlass` can be imported afterwards."""
    if (start := _start()) is not None:
        start.leave()
    while _UNDO:
        _UNDO.pop()()


@contextmanager
def activated() -> Iterator[None]:
    """Active inside a `with`."""
    before = is_active()
    activate()
    try:
        yield
    finally:
        if not before:
            deactivate()


def activate_if_asked() -> None:
    """For processes that start with `TRIPTYCH_COMPAT` (`triptych_compat.pth`): active if it says so."""
    if config().compat:
        activate()
