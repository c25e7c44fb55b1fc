"""`triptych run SCRIPT`: a program written for the public CuTe DSL, unchanged, on Triptych.

As `python SCRIPT` would: the same arguments, the same folder first on the path, the same exit code, and a traceback of
the program's own frames. The process belongs to the program from here on, so nothing is put back when it ends: its
threads and what it registered for the end of the process still run. Processes that it starts are told by environment
variables, which `triptych_compat.pth` reads when Python starts.
"""

from __future__ import annotations

import os
import runpy
import site
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import triptych
from triptych.compat import activate
from triptych.metastage.trace import locations
from triptych.objectstage.target import find_target
from triptych.support.config import config, hand_down, override
from triptych.support.errors import TriptychError
from triptych.support.tracebacks import user_traceback
from triptych.workbench.commands.compile_only import compiling_only
from triptych.workbench.commands.notebooks import SUFFIX, run_notebook
from triptych.workbench.commands.run_progress import telling

_WITH_RESOURCES = "nvptx"
_START_FILE = "triptych_compat.pth"
_ALONE = (
    f"triptych: {_START_FILE} is not installed, so `cutlass` is not Triptych in processes that the program starts; "
    "`pip install` puts it there"
)


class RunError(TriptychError, ValueError):
    """`triptych run` was asked for a script that it cannot find, or for a target that it cannot compile for alone."""

    code = "TT0708"


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What to run and how, as the command line says it."""

    program: str
    arguments: Sequence[str] = ()
    module: bool = False
    """The program is a module, as for `python -m`."""
    target: str = ""
    compile_only: bool = False
    json: bool = False


def run(request: RunRequest) -> int:
    """Run a script, a notebook, or a module as `python -m` does; the exit code of the program."""
    _check(request)
    activate()
    hand_down(compat=True, **({"target": request.target} if request.target else {}))
    sys.argv = [request.program, *request.arguments]
    if not sys.flags.safe_path:
        sys.path[0] = os.getcwd() if request.module else str(Path(request.program).resolve().parent)
    with override(target=request.target) if request.target else nullcontext():
        print(banner(), file=sys.stderr, flush=True)
        if not _reaches_children():
            print(_ALONE, file=sys.stderr, flush=True)
        if not request.compile_only:
            with telling():
                return _guarded(request, lambda _: False)
        with telling(), compiling_only() as found:
            code = _guarded(request, found.excuses)
        print(found.report(as_json=request.json))
        return code or found.exit_code()


def banner() -> str:
    """The one line that tells how a program is run."""
    target = config().target or "cpu"
    return f"triptych {triptych.__version__}: `cutlass` is Triptych, CUDA's tensors lie on the CPU, target {target}"


def _reaches_children() -> bool:
    folders = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
    return any(os.path.exists(os.path.join(folder, _START_FILE)) for folder in folders)


def _check(request: RunRequest) -> None:
    if not request.module and not os.path.exists(request.program):
        raise RunError(
            f"there is no script {request.program}", expected="a Python file or a notebook, as seen from here"
        )
    if request.target:
        find_target(request.target)
    if request.compile_only and not (request.target or config().target).startswith(_WITH_RESOURCES):
        raise RunError(
            "only code for a GPU is compiled without being run",
            found=f"the target {request.target or config().target or 'cpu'}",
            expected="an NVIDIA GPU",
            instead=f"triptych run --target {_WITH_RESOURCES}:sm_80 --compile-only {request.program}",
        )


def _guarded(request: RunRequest, is_excused: Callable[[BaseException], bool]) -> int:
    """Run it; an exception that nobody catches is shown as Python shows it, without frames that are not its own."""
    try:
        if request.module:
            runpy.run_module(request.program, run_name="__main__", alter_sys=True)
        elif request.program.endswith(SUFFIX):
            run_notebook(Path(request.program))
        else:
            runpy.run_path(request.program, run_name="__main__")
    except SystemExit as end:
        if not is_excused(end):
            raise
    except Exception as error:
        if not is_excused(error):
            if not config().full_traceback:
                error.__traceback__ = user_traceback(error.__traceback__, locations.root_of)
            sys.excepthook(type(error), error, error.__traceback__)
            return 1
    return 0
