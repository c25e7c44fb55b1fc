"""`triptych run SCRIPT`: a program written for the public CuTe DSL, unchanged, on Triptych.

As `python SCRIPT` would: the same arguments, the same folder first on the path, the same exit code, and a traceback of
the program's own frames. The process belongs to the program from here on, so nothing is put back when it ends: its
threads and what it registered for the end of the process still run. Processes that it starts are told by environment
variables, which `triptych_compat.pth` reads when Python starts.

Of progress a thread tells, in lines on stderr. It looks twice a second at what is compiled, which kernel runs and where
the program itself is. The first line comes when something has taken two seconds, the next when it has taken twice as
long, so that hours fill no screen.
"""

from __future__ import annotations

import os
import runpy
import site
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

import triptych
from triptych.compat import activate
from triptych.compat.modelled_gpu import modelled_gpu
from triptych.metastage.trace import locations
from triptych.objectstage.target import find_target
from triptych.support import timeline
from triptych.support.config import config, hand_down, override
from triptych.support.dataclass import dataclass
from triptych.support.errors import TriptychError
from triptych.support.stacks import OBSERVERS
from triptych.support.timeline import Moment
from triptych.support.tracebacks import user_traceback
from triptych.workbench.commands.compile_only import compiling_only
from triptych.workbench.commands.notebooks import SUFFIX, run_notebook
from triptych.workbench.commands.rank_processes import command_of, is_rank, makes_processes, run_ranks, text_of

LONG = 2.0
"""Seconds after which something is reported."""
_LOOK = 0.5
_POOL = "triptych.targets.cpu.runtime.pool"
_COMPILED = "compile "


class RunProgress:
    """What a program is at, and what it has done so far."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._started = time.monotonic()
        self._seen: dict[str, float] = {}
        """When each thing was first seen."""
        self._told: dict[str, float] = {}
        """After how many seconds each was told last."""
        self.is_over = False
        self.compiled = 0
        self.compile_seconds = 0.0

    def listen(self, moment: Moment) -> None:
        """Count compilations."""
        if moment.kind == timeline.STAGE and moment.name.startswith(_COMPILED):
            self.compiled += 1
            self.compile_seconds += (moment.end - moment.begin) / 1e9

    def look(self, clock: float) -> None:
        """Tell what has taken long; forget what is over."""
        doing = dict(_doing() or [_own_line()])
        self._seen = {what: self._seen.get(what, clock) for what in doing}
        self._told = {what: last for what, last in self._told.items() if what in self._seen}
        for what, since in self._seen.items():
            passed = clock - since
            if passed >= LONG and passed >= 2 * self._told.get(what, 0.0):
                self._told[what] = passed
                print(f"triptych: {doing[what]}, {passed:.0f} s", file=self._stream, flush=True)

    def totals(self) -> str:
        """The line at the end."""
        launches = sum(count for _, _, count in _launches())
        parts = [f"compiled {_counted(self.compiled, 'function')} in {self.compile_seconds:.1f} s"]
        parts += [_counted(launches, "launch", "launches"), f"{time.monotonic() - self._started:.1f} s in all"]
        return f"triptych: {', '.join(parts)}"


@contextmanager
def telling() -> Iterator[None]:
    """Inside, what takes long is told; at the end, the totals."""
    bar = RunProgress(sys.stderr)

    def watch() -> None:
        OBSERVERS.add(threading.get_ident())
        while not bar.is_over:
            bar.look(time.monotonic())
            time.sleep(_LOOK)

    timeline.LISTENERS.append(bar.listen)
    threading.Thread(target=watch, name="triptych run", daemon=True).start()
    try:
        yield
    finally:
        bar.is_over = True
        timeline.LISTENERS.remove(bar.listen)
        print(bar.totals(), file=sys.stderr, flush=True)


def _doing() -> list[tuple[str, str]]:
    """Compilations and launches that are under way, and what to say of each."""
    found = [(name, name) for name, _ in list(timeline.UNDERWAY.values())]
    for kernel, blocks, count in _launches():
        if kernel:
            units = "clusters" if " in clusters of " in kernel else "blocks"
            found.append((kernel, f"running {kernel}, {blocks:,} {units} (launch {count:,})"))
    return found


def _own_line() -> tuple[str, str]:
    """Where the program's own Python is, when it compiles and launches nothing."""
    frame: FrameType | None = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None and frame.f_globals.get("__name__") != "__main__":
        frame = frame.f_back
    where = "" if frame is None or frame.f_back is None else f" at {frame.f_code.co_filename}:{frame.f_lineno}"
    return where, f"the program itself{where}: no kernel is compiled or runs"


def _launches() -> list[tuple[str, int, int]]:
    """Of the pools, if there is one yet; the program may be importing their module."""
    ask: Callable[[], list[tuple[str, int, int]]] | None = getattr(sys.modules.get(_POOL), "latest_launches", None)
    return [] if ask is None else ask()


def _counted(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


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
    gpus: int = 0
    """How many GPUs the program sees; 0: as the setting says."""


def run(request: RunRequest) -> int:
    """Run a script, a notebook, or a module as `python -m` does; the exit code of the program."""
    _check(request)
    chosen: dict[str, Any] = {"target": request.target} if request.target else {}
    chosen |= {"gpus": request.gpus} if request.gpus else {}
    hand_down(compat=True, **chosen)
    if request.gpus > 1 and not is_rank() and not makes_processes(text_of(request.program)):
        return run_ranks(request.gpus, _of_a_rank(request))
    with override(**chosen):
        return _run_here(request)


def _of_a_rank(request: RunRequest) -> list[str]:
    """The command that runs the program as one rank, which the environment tells of the others."""
    options = [*(["--compile-only"] if request.compile_only else []), *(["--json"] if request.json else [])]
    kind = ["-m"] if request.module else []
    return command_of(["run", *options, *kind, request.program, *request.arguments])


def _run_here(request: RunRequest) -> int:
    activate()
    sys.argv = [request.program, *request.arguments]
    if not sys.flags.safe_path:
        sys.path[0] = os.getcwd() if request.module else str(Path(request.program).resolve().parent)
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
    target, gpus = config().target or "cpu", config().gpus
    gpu = f"{gpus} GPUs as" if gpus > 1 else "a GPU as"
    return (
        f"triptych {triptych.__version__}: `cutlass` is Triptych, CUDA tensors are placed on the CPU, target {target}; "
        f"programs see {gpu} {modelled_gpu().name} (TRIPTYCH_GPU=h100 for another)"
    )


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
