"""Stand-ins for what programs use that run on several GPUs: NVSHMEM for Python, and torch's symmetric memory.

Nothing of NVSHMEM need be installed. It is found here where several GPUs are modelled (`triptych run --gpus 4`), and a
program with one GPU sees what is installed. The memory that ranks share is in `triptych.ranks`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from triptych.support.config import config
from triptych.support.forking import import_late

_PACKAGE = "nvshmem"
_MODULES = {"nvshmem.core": "triptych.compat.several_gpus.nvshmem_calls"}


def install() -> Callable[[], None]:
    """Let `import nvshmem.core` find the stand-in, until the function that this gives is called."""
    if config().gpus == 1:
        return lambda: None
    finder = _NvshmemFinder()
    sys.meta_path.insert(0, finder)
    return finder.undo


class _NvshmemFinder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == _PACKAGE:
            return ModuleSpec(fullname, _Stands(), is_package=True)
        return ModuleSpec(fullname, _Stands()) if fullname in _MODULES else None

    def undo(self) -> None:
        sys.meta_path.remove(self)
        for name in (_PACKAGE, *_MODULES):
            sys.modules.pop(name, None)


class _Stands(Loader):
    """Gives the import system a module of ours by its public name, and leaves it as it is."""

    def __init__(self) -> None:
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        if spec.name == _PACKAGE:
            return ModuleType(_PACKAGE, "A package of stand-ins.")
        module = import_late(_MODULES[spec.name])
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        if self._spec is not None:
            module.__spec__ = self._spec
