"""Packages that public programs import and can often do without: which one is missing, and what to install.

Programs for GPUs import Triton to measure time, and others to draw. Where such a package is not installed, Python says
only that there is no such module; several have another name where packages are installed from.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from triptych.ir.errors import MissingPackageError
from triptych.support.tracebacks import caller

_FOR_GPUS = "its own kernels need a GPU; what only imports it, or asks it for a decorator, works without one"
PACKAGES = {
    "einops": ("einops", ""),
    "jax_tvm_ffi": ("jax-tvm-ffi", ""),
    "nvshmem": ("nvshmem4py-cu12", "it needs several GPUs; `triptych run --gpus 2` stands in for it"),
    "quack": ("quack-kernels", "with `--no-deps`: it asks for the package whose place Triptych takes"),
    "svgwrite": ("svgwrite", ""),
    "triton": ("triton", _FOR_GPUS),
    "tvm_ffi": ("apache-tvm-ffi", ""),
}
"""What is installed for each, and a remark."""


class _LastFinder(MetaPathFinder):
    """Asked when nobody has found a module: a question whether it is there gets no error, an import does."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in PACKAGES and _is_import():
            raise _missing(fullname)
        return None


def _is_import() -> bool:
    """Whether an import asks the finders, and not `importlib.util.find_spec`."""
    frame = sys._getframe(2)
    while frame.f_code.co_name == "_find_spec" and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_name == "_find_and_load_unlocked"


def _missing(package: str) -> MissingPackageError:
    distribution, remark = PACKAGES[package]
    error = MissingPackageError(
        f"the program imports `{package}`, which is not installed",
        span=caller(),
        found=f"no importable module {package}",
        instead=f"pip install {distribution}" + (f" ({remark})" if remark else ""),
    )
    error.name = package
    return error


def install() -> Callable[[], None]:
    """From now on; gives what undoes it."""
    finder = _LastFinder()
    sys.meta_path.append(finder)
    return lambda: sys.meta_path.remove(finder)
