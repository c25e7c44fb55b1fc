"""PyTorch on the CPU in the place of CUDA, for programs that were written for a GPU: `install()`, and undo.

What programs put on "cuda" is where kernels of the CPU target run. PyTorch is not imported for this. Where the program
imports it later, it is changed as soon as it is there; only then are the other files of this folder imported.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from triptych.support.forking import import_late

_TORCH = "torch"


def install() -> Callable[[], None]:
    """Let torch answer as on a machine with a GPU, until the function that this gives is called."""
    if _TORCH in sys.modules:
        return _change()
    if importlib.util.find_spec(_TORCH) is None:
        return _nothing
    watcher = _Watcher()
    sys.meta_path.insert(0, watcher)
    return watcher.undo


def _change() -> Callable[[], None]:
    undo: Callable[[], None] = import_late("triptych.compat.torch_on_cpu.cuda_module").install()
    return undo


def _nothing() -> None:
    """Torch is not there."""


class _Watcher(MetaPathFinder):
    """Finds torch as the others do, and changes it once it is loaded."""

    def __init__(self) -> None:
        self._undo: Callable[[], None] = _nothing
        self._asks_others = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _TORCH or self._asks_others:
            return None
        self._asks_others = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._asks_others = False  # who only asks whether torch is there may import it later
        if spec is not None and spec.loader is not None:
            spec.loader = _ThenChanging(spec.loader, self)
        return spec

    def change(self) -> None:
        sys.meta_path.remove(self)
        self._undo = _change()

    def undo(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        self._undo()


class _ThenChanging(Loader):
    """A loader that tells the watcher when the module is complete."""

    def __init__(self, loader: Loader, watcher: _Watcher) -> None:
        self._loader = loader
        self._watcher = watcher

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        loaded_by: Any = module.__spec__
        loaded_by.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._watcher.change()
