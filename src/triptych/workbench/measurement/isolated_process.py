"""Isolated processes: kernels that cannot share one are measured in turns, and comparisons are drawn anew in new ones.

A child loads one file, waits, and measures so many calls when it is asked to, by its own clock. While one is measured
the other waits for its next line and takes no time of the processor.

Where code and arrays happen to lie, how they are aligned, on which cores threads begin, how dictionaries are laid
out: it is one draw for a process, and all its rounds share it: an interval of rounds is an interval of that process.
So each process gives one number, and the interval is of these. In a process arrays are made at several places; which
file is loaded and prepared first is exchanged from one to the next.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import traceback
from _thread import start_new_thread
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from triptych.ir.errors import how_it_ended
from triptych.ir.llvm.worker_process import end_with
from triptych.metastage.trace import locations
from triptych.support.errors import TriptychError
from triptych.support.tracebacks import user_traceback
from triptych.workbench.contracts.contract import Contract, Tolerance
from triptych.workbench.contracts.loading import files_beside, load_contract
from triptych.workbench.errors import ContractError
from triptych.workbench.measurement.candidate import Candidate, LocalCandidate, problems_of_both
from triptych.workbench.measurement.clocks import HOST, Call, HostClock
from triptych.workbench.measurement.sampling import Comparison, Interval, combined, in_turns
from triptych.workbench.processes import ask
from triptych.workbench.verification.worker import tolerance_from

_PROGRAM = (
    "import sys; sys.path[:] = {path!r}; "
    "from triptych.workbench.measurement.isolated_process import main; main{arguments!r}"
)


class CandidateFailed(Exception):
    """A candidate has raised or died; the text says which and how."""


class IsolatedCandidate:
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

    def __enter__(self) -> IsolatedCandidate:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._asking)
        self._child.kill()
        self._child.wait()
        self._lines.close()

    def _ask(self, **request: object) -> dict[str, Any]:
        with suppress(BrokenPipeError):  # it has ended; how is told below
            os.write(self._asking, json.dumps(request).encode() + b"\n")
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        line = self._lines.readline()
        if not line:
            raise CandidateFailed(f"{self.file.name}: its process ended ({how_it_ended(self._child.wait())})")
        facts: dict[str, Any] = json.loads(line)
        if "error" in facts:
            raise CandidateFailed(f"{self.file.name}: {facts['error']}")
        return facts


class IsolatedClocks:
    """Asks the side to measure itself."""

    name = HOST

    def __init__(self) -> None:
        self.cost = HostClock().cost

    def seconds(self, call: Call, repeats: int) -> float:
        assert isinstance(call, IsolatedCandidate), "these clocks measure isolated candidates only"
        return call.seconds(repeats)

    def evict(self) -> None:
        """Comparisons are of warm kernels."""


def main(asked: int, answering: int, parent: int, file: str) -> None:
    """The life of a child, which ends with its parent."""
    start_new_thread(end_with, (parent,))
    os.dup2(2, 1)  # what the user's file prints
    with os.fdopen(asked, encoding="utf-8") as lines, os.fdopen(answering, "w", encoding="utf-8") as out:

        def say(**facts: object) -> None:
            out.write(json.dumps(facts) + "\n")
            out.flush()

        try:
            contract = load_contract(file)
            facts = {"file": str(contract.file), "requires": contract.requires, "beside": files_beside(contract)}
            say(mutates=contract.restores, **facts)
            _answer(contract, lines, say)
        except TriptychError as error:
            say(error=error.text())
        except Exception as error:  # of the user's file, shown as Python would show it
            traceback.print_exception(error.with_traceback(user_traceback(error.__traceback__, locations.root_of)))
            say(error=f"{type(error).__name__}: {error}")
    os._exit(0)


def _answer(contract: Contract, lines: Any, say: Any) -> None:
    side, clock = None, HostClock()
    for line in lines:
        match json.loads(line):
            case {"do": "prepare", "case": case, "seed": seed}:
                side = LocalCandidate(contract, case, seed)
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


PROCESSES = 10
"""Ten tell a difference of 3 % in 95 of 100 comparisons where single processes are off by 1.6 %."""
_PLACES = 3
"""Of arrays, in one process."""
_AGAIN = 0.02
"""Seconds to warm up where the code has run before."""
_PADS, _LARGEST = 16, 1 << 15


def compare_in_processes(
    files: Sequence[Path], request: Mapping[str, Any], name: str, doing: Callable[[str], None]
) -> tuple[Comparison, list[str]]:
    """The comparison over all processes, and what is wrong with the results after timing.

    `request` has the case, the seed, how many processes, the seconds of all of them together, and a tolerance.
    """
    count = request["processes"]
    parts, verified = list[Comparison](), list[str]()
    for turn in range(count):
        doing(f"measuring {name} in process {turn + 1} of {count}")
        own = {"seconds": request["seconds"] / count, "turn": turn, "files": [str(file) for file in files]}
        answer = ask("draw", {**request, **own, "check": turn == count - 1})
        if answer.result is None:
            raise ContractError(
                "the two kernels could not be measured", found=answer.error or f"{answer.ended} during {answer.doing}"
            )
        found = answer.result["comparison"]
        parts.append(Comparison(**{**found, "ratio": Interval(**found["ratio"])}))
        verified = answer.result["verified"]
    return combined(parts), verified


def worker_main(request: dict[str, Any], doing: Callable[[str], None]) -> dict[str, Any]:
    """One process: both files loaded, measured with arrays at several places."""
    contracts = dict[int, Contract]()
    order = (0, 1) if request["turn"] % 2 == 0 else (1, 0)
    for which in order:
        doing(f"loading {request['files'][which]}")
        contracts[which] = load_contract(request["files"][which], f"triptych_contract_{which}")
    draw = random.Random(f"{request['seed']} {request['turn']}")
    parts = []
    for place in range(_PLACES):
        pads = [np.empty(draw.randrange(16, _LARGEST), np.uint8) for _ in range(_PADS)]
        del pads[:: draw.randrange(2, 4)]  # holes, of which the next arrays take some
        sides = dict[int, LocalCandidate]()
        for which in order if place % 2 == 0 else order[::-1]:
            beside = next(iter(sides.values()), None)
            warm = _AGAIN if place else None
            sides[which] = LocalCandidate(contracts[which], request["case"], request["seed"], beside, warm)
        doing("measuring")
        first, second = sides[0], sides[1]
        parts.append(turns(first, second, HostClock(), request["seconds"] / _PLACES, draw.randrange(1 << 30)))
        del pads
    verified = problems_of_both(first, second, tolerance_from(request)) if request["check"] else []
    return {"comparison": asdict(combined(parts)), "verified": verified}


def turns(first: Candidate, second: Candidate, clock: Any, seconds: float, seed: int) -> Comparison:
    """Both in turns; inputs that a kernel changes get their values back before each call."""
    before = (first.restore, second.restore) if first.mutates or second.mutates else None
    return in_turns(first, second, clock, seconds, seed, before)
