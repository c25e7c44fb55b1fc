"""Isolated process for a user's file: what it does to it, and how it dies, is reported and nothing more.

The child says what it is doing, line by line in JSON, and at last what came of it. What the user's program prints goes
to stderr, so that stdout has only what the command says.
"""

from __future__ import annotations

import json
import math
import os
import select
import subprocess
import sys
import time
import traceback
from _thread import start_new_thread
from typing import Any

from triptych.ir.errors import how_it_ended
from triptych.ir.llvm.worker_process import end_with
from triptych.metastage.trace import locations
from triptych.support.config import process_environment
from triptych.support.dataclass import dataclass
from triptych.support.errors import TriptychError
from triptych.support.forking import import_late
from triptych.support.tracebacks import has_own_frames, user_traceback
from triptych.workbench.progress import TICK, Progress

_PROGRAM = "import sys; sys.path[:] = {path!r}; from triptych.workbench.processes import main; main{arguments!r}"
_PAUSE = 3600.0
WORKERS = {
    "verify": "triptych.workbench.verification.worker:worker_main",
    "check": "triptych.workbench.verification.worker:check_main",
    "bench": "triptych.workbench.measurement.worker:worker_main",
    "draw": "triptych.workbench.measurement.isolated_process:worker_main",
    "tune": "triptych.workbench.tuning.worker:worker_main",
    "profile": "triptych.workbench.profiling.worker:worker_main",
    "doctor": "triptych.workbench.doctor.worker:worker_main",
    "puzzle": "triptych.workbench.puzzles.judging:worker_main",
}
"""By verb, the function `worker_main(request, doing)` that runs in the child, with its module."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a request: a result, or why there is none."""

    result: dict[str, Any] | None
    doing: str = ""
    """The last thing that the child was doing."""
    ended: str = ""
    """How it ended, if not by itself."""
    error: str = ""
    is_request: bool = False
    """The error is one of the request, not of the user's program."""


def ask(
    verb: str,
    request: dict[str, Any],
    seconds: float | None = None,
    *,
    each: bool = False,
    environment: dict[str, str] | None = None,
    bar: Progress | None = None,
) -> Answer:
    """Do something in a child; a time limit ends it: of all of it, or of `each` thing that it says it is doing.

    `bar` hears what it is doing: the text, and the counts and the note that the child gives with it.
    """
    reading, writing = os.pipe()
    arguments = writing, os.getpid(), json.dumps({"verb": verb, **request})
    program = _PROGRAM.format(path=sys.path, arguments=arguments)
    with os.fdopen(reading, "rb", buffering=0) as answers:
        child = subprocess.Popen(
            [sys.executable, "-c", program],
            pass_fds=[writing],
            stdout=sys.stderr.fileno() if _has_descriptor() else subprocess.DEVNULL,
            env={**process_environment(), **environment} if environment else None,
        )
        os.close(writing)
        try:
            return _listen(child, answers, _Limit(seconds, each), bar)
        finally:
            child.kill()
            child.wait()


def main(pipe: int, parent: int, request: str) -> None:
    """The life of the child, which ends with its parent."""
    start_new_thread(end_with, (parent,))
    asked = json.loads(request)
    with os.fdopen(pipe, "w", encoding="utf-8") as out:

        def say(**facts: object) -> None:
            out.write(json.dumps(facts) + "\n")
            out.flush()

        try:
            module, _, function = WORKERS[asked.pop("verb")].partition(":")
            worker_main = getattr(import_late(module), function)
            say(result=worker_main(asked, lambda text, **how: say(doing=text, how=how)))
        except TriptychError as error:
            say(error=error.text(), is_request=error.span is None)
        except Exception as error:  # of the user's file, shown as Python would show it
            frames = user_traceback(error.__traceback__, locations.root_of)
            if isinstance(error, OSError) and not has_own_frames(frames):
                say(error=str(error), is_request=True)
            else:
                traceback.print_exception(error.with_traceback(frames))
                say(error=f"{type(error).__name__}: {error}")
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(0)  # threads that a file has left behind do not keep the answer waiting


class _Limit:
    """Until when an answer is waited for."""

    def __init__(self, seconds: float | None, each: bool) -> None:
        self.seconds, self._each = seconds, each
        self._until = math.inf if seconds is None else time.monotonic() + seconds

    def left(self) -> float:
        return self._until - time.monotonic()

    def heard(self) -> None:
        """It is doing something else now."""
        if self._each and self.seconds is not None:
            self._until = time.monotonic() + self.seconds


def _listen(child: subprocess.Popen[bytes], answers: Any, limit: _Limit, bar: Progress | None) -> Answer:
    doing, over, pause = "starting", False, _PAUSE if bar is None else TICK
    while True:
        while not over and not select.select([answers], [], [], max(0.0, min(limit.left(), pause)))[0]:
            if bar is not None:
                bar.tick()
            if limit.left() <= 0:
                child.kill()
                over = True
        line = answers.readline()
        if not line:
            break
        facts = json.loads(line)
        if "doing" in facts:
            doing = facts["doing"]
            if bar is not None:
                bar.say(doing, **facts.get("how", {}))
            limit.heard()
            continue
        return Answer(facts.get("result"), doing, "", facts.get("error", ""), facts.get("is_request", False))
    ended = f"the process ended ({how_it_ended(child.wait())})"
    return Answer(None, doing, f"it took longer than {limit.seconds:g} s" if over else ended)


def _has_descriptor() -> bool:
    try:
        return sys.stderr.fileno() >= 0
    except (OSError, ValueError):
        return False
