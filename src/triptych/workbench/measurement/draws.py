"""Two kernels in turns, again and again in new processes: what one process draws once is drawn anew by the next.

Where code and arrays happen to lie, how they are aligned, on which cores threads begin, how dictionaries are laid out:
it is one draw for a process, and all its rounds share it: an interval of rounds is an interval of that process. So each
process gives one number, and the interval is of these. In a process arrays are made at several places; which file is
loaded and prepared first is exchanged from one to the next.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from triptych.workbench.contracts.contract import Contract
from triptych.workbench.contracts.loading import load_contract
from triptych.workbench.errors import ContractError
from triptych.workbench.measurement.clocks import HostClock
from triptych.workbench.measurement.sampling import Comparison, combined, in_turns
from triptych.workbench.measurement.sides import Side, SideHere, problems_of_both
from triptych.workbench.measurement.statistics import Interval
from triptych.workbench.processes import ask
from triptych.workbench.verification.serving import tolerance_from

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


def serve(request: dict[str, Any], doing: Callable[[str], None]) -> dict[str, Any]:
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
        sides = dict[int, SideHere]()
        for which in order if place % 2 == 0 else order[::-1]:
            beside = next(iter(sides.values()), None)
            warm = _AGAIN if place else None
            sides[which] = SideHere(contracts[which], request["case"], request["seed"], beside, warm)
        doing("measuring")
        first, second = sides[0], sides[1]
        parts.append(turns(first, second, HostClock(), request["seconds"] / _PLACES, draw.randrange(1 << 30)))
        del pads
    verified = problems_of_both(first, second, tolerance_from(request)) if request["check"] else []
    return {"comparison": asdict(combined(parts)), "verified": verified}


def turns(first: Side, second: Side, clock: Any, seconds: float, seed: int) -> Comparison:
    """Both in turns; inputs that a kernel changes get their values back before each call."""
    before = (first.restore, second.restore) if first.mutates or second.mutates else None
    return in_turns(first, second, clock, seconds, seed, before)
