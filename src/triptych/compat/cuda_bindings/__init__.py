"""Stand-ins for `cuda.bindings`: host calls of public programs that succeed without a driver.

They do on the CPU what has a meaning there (memory, streams, events, questions about the device) and refuse the rest.
They are imported, and a driver is looked for, when a program first imports `cuda`.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from triptych.support.config import config
from triptych.support.forking import import_late

__all__ = ["install"]

_CUDA = "cuda"
_MODULES = ("driver", "runtime", "nvrtc")


def install() -> Callable[[], None]:
    """Let `import cuda.bindings.driver` find the stand-ins, until the function that this gives is called.

    Where the package and a driver are there, nothing changes.
    """
    if _CUDA in sys.modules:
        return _put_in()
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    return finder.undo


def _put_in() -> Callable[[], None]:
    """Put the stand-ins in, if the package or a driver is not there; gives what takes them out."""
    before = _loaded()
    is_installed = _has_package()
    if is_installed and _has_driver():
        return lambda: None
    real = import_late(f"{__name__}.handles").REAL
    modules = {name: import_late(f"{__name__}.{name}") for name in _MODULES}
    if is_installed:  # what else is in the package stays: others are built on it
        real.update({name: import_late(name) for name in map("cuda.bindings.{}".format, _MODULES)})
    there = _loaded()
    package = there.get("cuda.bindings") or _package("cuda.bindings")
    root = there.get("cuda") or _package("cuda")
    root.bindings = package  # type: ignore[attr-defined]
    sys.modules |= {"cuda": root, "cuda.bindings": package}
    replaced = {name: vars(package).get(name) for name in _MODULES}
    for name, module in modules.items():
        setattr(package, name, module)
        sys.modules[f"cuda.bindings.{name}"] = module

    _put_in_core(root)
    put_back = _put_in_pathfinder(root)

    def undo() -> None:
        put_back()
        real.clear()
        for name in _loaded():
            del sys.modules[name]
        sys.modules.update(before)
        for name, module in replaced.items():
            if module is not None:
                setattr(package, name, module)

    return undo


def _put_in_core(package: ModuleType) -> None:
    """`cuda.core`, also where it is installed: its compiled parts need a driver."""
    stand_in, core = import_late(f"{__name__}.device_objects"), f"{_CUDA}.core"
    sys.modules |= {core: stand_in, f"{core}.experimental": stand_in}
    vars(package)["core"] = vars(stand_in)["experimental"] = stand_in


def _put_in_pathfinder(package: ModuleType) -> Callable[[], None]:
    """The installed `cuda.pathfinder` stays, and finds the libraries with a stand-in too; gives what undoes it."""
    stand_in = import_late(f"{__name__}.pathfinder")
    name = f"{_CUDA}.pathfinder"
    if name not in sys.modules and PathFinder.find_spec(name, package.__path__) is None:
        sys.modules[name] = vars(package)["pathfinder"] = stand_in
        return _nothing
    if config().gpus == 1:
        return _nothing  # it takes long to import, and nothing has a stand-in
    installed = vars(import_late(name))
    load = installed["load_nvidia_dynamic_lib"]
    installed["load_nvidia_dynamic_lib"] = stand_in.loads_stand_ins(load)
    return lambda: installed.update(load_nvidia_dynamic_lib=load)


def _loaded() -> dict[str, ModuleType]:
    """The modules of CUDA's packages for Python that have been imported."""
    return {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "cuda"}


def _package(name: str) -> ModuleType:
    made = ModuleType(name, "A package of stand-ins.")
    made.__path__ = []
    return made


def _has_package() -> bool:
    try:
        return importlib.util.find_spec("cuda.bindings.driver") is not None
    except ModuleNotFoundError:
        return False


def _has_driver() -> bool:
    errors = import_late("triptych.objectstage.device_errors")
    try:
        return import_late("triptych.targets.nvptx.runtime.driver").find_driver() is not None
    except errors.NoGpuError:
        return False


def _nothing() -> None:
    """Nobody has imported `cuda`."""


class _Finder(MetaPathFinder):
    """Puts the stand-ins in when `cuda` is first looked for."""

    def __init__(self) -> None:
        self._undo: Callable[[], None] = _nothing

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _CUDA:
            return None
        sys.meta_path.remove(self)
        self._undo = _put_in()
        there = sys.modules.get(_CUDA)
        if there is None:
            return None
        spec = ModuleSpec(_CUDA, _Loaded(there), is_package=True)
        there.__spec__ = spec  # what the import system goes by where a finder has imported the module
        return spec

    def undo(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        self._undo()


class _Loaded(Loader):
    """Gives the import system a module that is there, and leaves it as it is."""

    def __init__(self, module: ModuleType) -> None:
        self._module, self._spec = module, module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec or module.__spec__
