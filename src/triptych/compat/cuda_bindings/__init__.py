"""Stand-ins for `cuda.bindings`: host calls of public programs that succeed without a driver.

They do on the CPU what has a meaning there (memory, streams, events, questions about the device) and refuse the rest.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from types import ModuleType

from triptych.compat.cuda_bindings import driver, nvrtc, runtime
from triptych.compat.cuda_bindings.handles import REAL
from triptych.support.forking import import_late
from triptych.targets.nvptx.description.errors import NoGpuError
from triptych.targets.nvptx.runtime.driver import find_driver

__all__ = ["install"]

_MODULES = {"driver": driver, "runtime": runtime, "nvrtc": nvrtc}


def install() -> Callable[[], None]:
    """Let `import cuda.bindings.driver` find the stand-ins, until the function that this gives is called.

    Where the package and a driver are there, nothing changes.
    """
    before = _loaded()
    is_installed = _has_package()
    if is_installed and _has_driver():
        return lambda: None
    if is_installed:  # what else is in the package stays: `cuda.core` is built on it
        REAL.update({name: import_late(name) for name in map("cuda.bindings.{}".format, _MODULES)})
    there = _loaded()
    package = there.get("cuda.bindings") or _package("cuda.bindings")
    root = there.get("cuda") or _package("cuda")
    root.bindings = package  # type: ignore[attr-defined]
    sys.modules |= {"cuda": root, "cuda.bindings": package}
    replaced = {name: vars(package).get(name) for name in _MODULES}
    for name, module in _MODULES.items():
        setattr(package, name, module)
        sys.modules[f"cuda.bindings.{name}"] = module

    def undo() -> None:
        REAL.clear()
        for name in _loaded():
            del sys.modules[name]
        sys.modules.update(before)
        for name, module in replaced.items():
            if module is not None:
                setattr(package, name, module)

    return undo


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
    try:
        return find_driver() is not None
    except NoGpuError:
        return False
