"""Attributes of objects change in compiled code as in CPython, or the program is refused with an error of ours.

`python -m tests.differential.test_object_programs FIRST COUNT` runs many.
"""

from __future__ import annotations

import sys
from typing import Any

import triptych as tt
from tests.differential.bounded_runs import run_seeds
from tests.differential.object_programs import object_program
from tests.differential.program import Program, loaded
from triptych.support.errors import TriptychError

ARGUMENTS = [(n, m) for n in (0, 1, 2, 5) for m in (0, 1, 3, 7)]
REFUSALS: dict[int, TriptychError] = {}


def disagreement(seed: int) -> str | None:
    """What is different, if CPython and compiled code are."""
    program = Program(object_program(seed), "f", ())
    with loaded(program, {}) as function:
        try:
            compiled: Any = tt.compile(function, 1, 1)
        except TriptychError as refusal:
            REFUSALS[seed] = refusal
            return None
        for arguments in ARGUMENTS:
            expected, found = function(*arguments), compiled(*arguments)
            if expected != found:
                return f"f{arguments} is {found} and not {expected}:\n{program.source}"
    return None


def test_attributes_change_as_in_python() -> None:
    run_seeds(disagreement, range(40), seconds=6.0, fewest=3)
    assert not REFUSALS


if __name__ == "__main__":
    first, count = map(int, sys.argv[1:])
    for seed in range(first, first + count):
        found = disagreement(seed)
        if found is not None:
            print(f"seed {seed}: {found}")
    print(f"{count} programs, {len(REFUSALS)} refused")
    for seed, refusal in list(REFUSALS.items())[:20]:
        print(seed, str(refusal).splitlines()[0])
