"""Import finder for `cutlass` and the modules in it: each is an existing module of Triptych."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from triptych.compat.aliased_modules import alias, not_here, restore, without_a_home
from triptych.compat.errors import NotImportableYetError
from triptych.compat.module_aliases import BESIDE, HOMES, LATE, NOT_HERE_YET, ROOT
from triptych.compat.public_names import tier_of_module

_LATE_HOMES = frozenset(HOMES[public] for public in LATE)


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
        if fullname in HOMES or fullname in NOT_HERE_YET:
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
                if public != ROOT and (public not in LATE or home in sys.modules):
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
