"""Activation of `import cutlass`: on under `triptych run` and its like, otherwise never."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from triptych.compat.errors import OtherPackageError
from triptych.compat.finder import CompatFinder
from triptych.compat.module_aliases import ROOT
from triptych.support.config import config
from triptych.support.forking import import_late

_PARTS = ("triptych.compat.torch_on_cpu", "triptych.compat.cuda_bindings", "triptych.compat.exported_layouts")
"""What else is other while programs for GPUs run here: each has `install`, which gives what undoes it."""

_IMPORT = re.compile(rf"^\s*(from\s+|import\s+([\w.]+(\s+as\s+\w+)?\s*,\s*)*){ROOT}\b", re.MULTILINE)

_UNDO: list[Callable[[], None]] = []
"""What puts the process back; empty: not active."""


def is_active() -> bool:
    """Whether programs that import `cutlass` get Triptych."""
    return bool(_UNDO)


def imports_public_names(text: str) -> bool:
    """Whether the text of a program imports `cutlass`, alone or among others."""
    return _IMPORT.search(text) is not None


def activate() -> None:
    """Let programs written for the public CuTe DSL run here: `import cutlass` gives Triptych from now on."""
    if is_active():
        return
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
    """For the start of every process (`triptych_compat.pth`): active if `TRIPTYCH_COMPAT` says so."""
    if config().compat:
        activate()
