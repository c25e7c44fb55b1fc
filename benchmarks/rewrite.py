"""What the pre-stage costs: the time to rewrite each function of generated programs, for the first time and again.

    python -m benchmarks.rewrite --programs 200

Run from the root of the repository. `ast.parse` and `compile` of the same text are what any rewriting must pay, so the
result is also given as a multiple of them.
"""

from __future__ import annotations

import argparse
import ast
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType

from tests.differential.choices import RandomChoices
from tests.differential.generator import generate
from tests.differential.program import PYTHON_TYPES, loaded
from triptych.prestage.rewrite import rewrite


@dataclass(frozen=True, slots=True)
class Cost:
    """One program: its lines, and milliseconds to rewrite all of its functions and to compile it as it stands."""

    lines: int
    first: float
    again: float
    compiling: float


def cost_of(seed: int) -> Cost:
    """Measure the program of a seed."""
    program = generate(RandomChoices(seed))
    with loaded(program, PYTHON_TYPES) as main:
        functions = [value for value in main.__globals__.values() if isinstance(value, FunctionType)]
        first = milliseconds(lambda: [rewrite(function) for function in functions])
        again = milliseconds(lambda: [rewrite(function) for function in functions])
    compiling = milliseconds(lambda: compile(ast.parse(program.source), "<program>", "exec"))
    return Cost(program.source.count("\n"), first, again, compiling)


def milliseconds(action: Callable[[], object]) -> float:
    """CPU time."""
    started = time.process_time()
    action()
    return 1e3 * (time.process_time() - started)


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=200, help="how many programs to rewrite")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first program")
    options = parser.parse_args()
    costs = [cost_of(options.seed + number) for number in range(options.programs)]
    lines = sum(cost.lines for cost in costs)
    total = sum(cost.first for cost in costs)
    print(f"{options.programs} programs, {lines} lines, {total:.0f} ms")
    print(f"ms per 40 lines: {40 * total / lines:.2f}, again {40 * sum(cost.again for cost in costs) / lines:.2f}")
    print(f"ms per program:  {statistics.median(cost.first for cost in costs):.2f} (median)")
    print(f"rewriting / (ast.parse + compile): {total / sum(cost.compiling for cost in costs):.1f}")


if __name__ == "__main__":
    main()
