"""Kernels that cannot share a process: each has one of its own, and they are still measured in turns.

A child loads one file, waits, and measures so many calls when it is asked to, by its own clock. While one is measured
the other waits for its next line and takes no time of the processor.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from _thread import start_new_thread
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from triptych.ir.errors import how_it_ended
from triptych.ir.llvm.worker_process import end_with
from triptych.metastage.trace import locations
from triptych.support.errors import TriptychError
from triptych.support.tracebacks import user_traceback
from triptych.workbench.contracts.beside import files_beside
from triptych.workbench.contracts.contract import Contract, Tolerance
from triptych.workbench.contracts.loading import load_contract
from triptych.workbench.measurement.clocks import HOST, Call, HostClock
from triptych.workbench.measurement.sides import SideHere

_PROGRAM = (
    "import sys; sys.path[:] = {path!r}; from triptych.workbench.measurement.apart import main; main{arguments!r}"
)


class SideFailed(Exception):
    """A side has raised or died; the text says which and how."""


class SideApart:
    """A kernel in a process of its own."""

    def __init__(self, file: Path, path: list[str]) -> None:
        self.file = file
        asked, self._asking = os.pipe()
        self._answers, answering = os.pipe()
        arguments = asked, answering, os.getpid(), str(file)
        program = _PROGRAM.format(path=path, module=__name__, arguments=arguments)
        self._child = subprocess.Popen([sys.executable, "-c", program], pass_fds=[asked, answering])
        os.close(asked)
        os.close(answering)
        self._lines = os.fdopen(self._answers, encoding="utf-8")
        self.mutates = False
        self.requires = ""
        self.kernel = file
        self.beside: dict[str, str] = {}

    def wait(self) -> None:
        """Until its file is loaded."""
        facts = self._answer()
        self.mutates, self.requires, self.beside = facts["mutates"], facts["requires"], facts["beside"]
        self.kernel = Path(facts["file"])

    def prepare(self, case: Mapping[str, Any], seed: int) -> None:
        """Make the inputs of a case and warm up."""
        self._ask(do="prepare", case=dict(case), seed=seed)

    def __call__(self) -> None:
        self.seconds(1)

    def seconds(self, repeats: int) -> float:
        """Of so many calls, by the child's own clock."""
        return float(self._ask(do="measure", repeats=repeats)["seconds"])

    def restore(self) -> None:
        self._ask(do="restore")

    def problems(self, tolerance: Tolerance | None) -> list[str]:
        return list(self._ask(do="check", tolerance=tolerance and [tolerance.rtol, tolerance.atol])["problems"])

    def __enter__(self) -> SideApart:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._asking)
        self._child.kill()
        self._child.wait()
        self._lines.close()

    def _ask(self, **request: Any) -> dict[str, Any]:
        with suppress(BrokenPipeError):  # it has ended; how is told below
            os.write(self._asking, json.dumps(request).encode() + b"\n")
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        line = self._lines.readline()
        if not line:
            raise SideFailed(f"{self.file.name}: its process ended ({how_it_ended(self._child.wait())})")
        facts: dict[str, Any] = json.loads(line)
        if "error" in facts:
            raise SideFailed(f"{self.file.name}: {facts['error']}")
        return facts


class ClocksApart:
    """Asks the side to measure itself."""

    name = HOST

    def __init__(self) -> None:
        self.cost = HostClock().cost

    def seconds(self, call: Call, repeats: int) -> float:
        assert isinstance(call, SideApart)
        return call.seconds(repeats)

    def evict(self) -> None:
        """Comparisons are of warm kernels."""


def main(asked: int, answering: int, parent: int, file: str) -> None:
    """The life of a child, which ends with its parent."""
    start_new_thread(end_with, (parent,))
    os.dup2(2, 1)  # what the user's file prints
    with os.fdopen(asked, encoding="utf-8") as lines, os.fdopen(answering, "w", encoding="utf-8") as out:

        def say(**facts: Any) -> None:
            out.write(json.dumps(facts) + "\n")
            out.flush()

        try:
            contract = load_contract(file)
            facts = {"file": str(contract.file), "requires": contract.requires, "beside": files_beside(contract)}
            say(mutates=contract.restores, **facts)
            _serve(contract, lines, say)
        except TriptychError as error:
            say(error=error.text())
        except Exception as error:  # of the user's file, shown as Python would show it
            traceback.print_exception(error.with_traceback(user_traceback(error.__traceback__, locations.root_of)))
            say(error=f"{type(error).__name__}: {error}")
    os._exit(0)


def _serve(contract: Contract, lines: Any, say: Any) -> None:
    side, clock = None, HostClock()
    for line in lines:
        match json.loads(line):
            case {"do": "prepare", "case": case, "seed": seed}:
                side = SideHere(contract, case, seed)
                say()
            case {"do": "measure", "repeats": repeats} if side is not None:
                side()  # the other process has had the caches since
                if side.mutates:
                    side.restore()
                say(seconds=clock.seconds(side, repeats))
            case {"do": "restore"} if side is not None:
                side.restore()
                say()
            case {"do": "check", "tolerance": given} if side is not None:
                say(problems=side.problems(Tolerance(*given) if given else None))
