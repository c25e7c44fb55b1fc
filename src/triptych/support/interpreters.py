"""Sub-interpreters are refused: compiled code is the main interpreter's.

NumPy and the bindings of MLIR and LLVM keep their state once for a process, and refuse to load in a second interpreter
or share objects with the first; signal handlers are the main one's alone. So a sub-interpreter is told in words, before
any of them is loaded.
"""

from __future__ import annotations

from triptych.support.errors import TriptychError


class SubinterpreterError(TriptychError, RuntimeError):
    """Triptych was used in a sub-interpreter, where neither NumPy nor the compiler's libraries can be loaded."""

    code = "TT0736"


def check_interpreter(number: int) -> None:
    """Refuse every interpreter of a process but its first."""
    if number:
        raise SubinterpreterError(
            "Triptych works in the main interpreter of a process only",
            found=f"sub-interpreter {number}",
            expected="the main interpreter: NumPy, MLIR and LLVM load once in a process",
            instead="a process (`multiprocessing`, `ProcessPoolExecutor`), or threads of the main interpreter: "
            "compiled code runs in all of them at the same time",
        )
