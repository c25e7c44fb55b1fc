"""Attributes of objects change in compiled code as in CPython, or the program is refused with an error of ours.

`python -m tests.differential.test_object_programs FIRST COUNT` runs many, with `1` after it such in which objects meet.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import triptych as tt
from tests.differential.object_programs import object_program
from tests.differential.program import Program, loaded
from tests.differential.seeded_runs import few_and_many, run_seeds
from triptych.support.errors import TriptychError

ARGUMENTS = [(n, m) for n in (0, 1, 2, 5) for m in (0, 1, 3, 7)]
FOUND = (60, 72, 205)
"""Programs that gave wrong results when copies and what they are copies of could change."""
REFUSALS: dict[int, TriptychError] = {}


def disagreement(seed: int, meets: bool = False) -> str | None:
    """What is different, if CPython and compiled code are."""
    program = Program(object_program(seed, meets), "f", ())
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


@few_and_many(range(40), few=10)
def test_attributes_change_as_in_python(seeds: Sequence[int]) -> None:
    REFUSALS.clear()
    run_seeds(disagreement, seeds)
    assert not REFUSALS


@few_and_many([*FOUND, *range(40)], few=10)
def test_objects_that_meet_are_as_in_python_or_refused(seeds: Sequence[int]) -> None:
    run_seeds(lambda seed: disagreement(seed, meets=True), seeds)


if __name__ == "__main__":
    first, count, *meets = map(int, sys.argv[1:])
    for seed in range(first, first + count):
        found = disagreement(seed, bool(meets))
        if found is not None:
            print(f"seed {seed}: {found}")
    print(f"{count} programs, {len(REFUSALS)} refused")
    for seed, refusal in list(REFUSALS.items())[:20]:
        print(seed, str(refusal).splitlines()[0])
