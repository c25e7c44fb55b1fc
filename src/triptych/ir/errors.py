"""Errors of the tool chain below the languages: packages missing or foreign, a lowering or an LLVM that fails."""

from __future__ import annotations

import signal
import sys

from triptych.support.errors import TriptychError


class LoweringError(TriptychError, RuntimeError):
    """A pass refused the program, or something reached the target that it cannot express."""

    code = "TT0501"


class CodegenError(TriptychError, RuntimeError):
    """LLVM refused the program with an ordinary error, or its object file needs a symbol nobody provides."""

    code = "TT0502"


class WorkerDiedError(TriptychError, RuntimeError):
    """LLVM stopped the worker process (abort, exit or time limit); the next compilation gets a new one."""

    code = "TT0503"


class FrozenProgramError(TriptychError, RuntimeError):
    """A program that was frozen into one executable has no Python beside it to run LLVM in: starting `sys.executable`
    would start the program again. What it needs is compiled before: in a store that it carries, or as exported objects.
    """

    code = "TT0740"


def python_executable() -> str:
    """What runs helper processes."""
    if getattr(sys, "frozen", False):
        raise FrozenProgramError(
            "this program is frozen, and what it calls has not been compiled before",
            found=f"no Python to run LLVM in: {sys.executable} is the program itself",
            expected="a store with everything that it calls (`TRIPTYCH_CACHE_DIR`, filled by running it unfrozen or by "
            "`triptych build`), or exported objects",
            instead="see docs/guides/ahead-of-time.md",
        )
    return sys.executable


class MissingPackageError(TriptychError, ModuleNotFoundError):
    """A package that the compiler needs at run time is not installed or cannot be loaded."""

    code = "TT0506"


class PackageVersionError(TriptychError, ImportError):
    """A package is installed in a version that the compiler was not written for."""

    code = "TT0508"


def how_it_ended(status: int) -> str:
    """The status of a process that ended by itself, in words."""
    if status >= 0:
        return f"exit status {status}"
    number = -status
    return f"signal {signal.Signals(number).name if number in set(signal.Signals) else number}"
