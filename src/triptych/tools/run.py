"""`triptych run SCRIPT`: a program written for the public CuTe DSL, unchanged, on Triptych.

As `python SCRIPT` would: the same arguments, the same folder first on the path, the same exit code, and a traceback of
the program's own frames. The process belongs to the program from here on, so nothing is put back when it ends: its
threads and what it registered for the end of the process still run.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import triptych
from triptych.compat import activate
from triptych.metastage import places
from triptych.support.config import config, override
from triptych.support.errors import TriptychError
from triptych.support.tracebacks import user_traceback


class RunError(TriptychError, ValueError):
    """`triptych run` was asked for a script or a module that it cannot find."""

    code = "TT0708"
    failing = "from triptych.tools.run import run\n\nrun('no_such_script.py', [])"
    fixed = "from triptych.tools.run import banner\n\nprint(banner())"


def run(program: str, arguments: Sequence[str], *, is_module: bool = False, target: str = "") -> int:
    """Run a script, or a module as `python -m` does; the exit code of the program."""
    if not is_module and not os.path.exists(program):
        raise RunError(f"there is no script {program}", expected="a Python file, as seen from here")
    activate()
    sys.argv = [program, *arguments]
    if not sys.flags.safe_path:
        sys.path[0] = os.getcwd() if is_module else str(Path(program).resolve().parent)
    with _settings(target):
        print(banner(), file=sys.stderr, flush=True)
        return _guarded(program, is_module)


def banner() -> str:
    """The one line that tells how a program is run."""
    target = config().target or "cpu"
    return f"triptych {triptych.__version__}: `cutlass` is Triptych, CUDA's tensors lie on the CPU, target {target}"


def _settings(target: str) -> AbstractContextManager[Any]:
    return override(target=target) if target else nullcontext()


def _guarded(program: str, is_module: bool) -> int:
    """Run it; an exception that nobody catches is shown as Python shows it, without frames that are not its own."""
    try:
        if is_module:
            runpy.run_module(program, run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(program, run_name="__main__")
    except Exception as error:
        if not config().full_traceback:
            error.__traceback__ = user_traceback(error.__traceback__, places.root_of)
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0
