"""The command line of a differential fuzzer: judge generated programs by the thousand, make what fails small.

Program number n of a run comes from seed S + n, so a failure is repeated by its seed alone. The exit status is 1 when
any program failed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Generic, TypeVar

from tests.differential.choices import Choices, RandomChoices
from tests.differential.judge import Failure, Judge
from tests.differential.shrink import HasSource, shrink

P = TypeVar("P", bound=HasSource)


@dataclass(frozen=True, slots=True)
class Fuzzer(Generic[P]):
    """What makes programs of decisions, and what judges them (a function that another process can import)."""

    generate: Callable[[Choices], P]
    judge: Callable[[P], Failure | None]

    def program_of(self, seed: int) -> tuple[P, list[int]]:
        """Return the program of a seed and the decisions behind it."""
        choices = RandomChoices(seed)
        return self.generate(choices), choices.record

    def judged(self, seeds: Sequence[int], jobs: int, timeout: float) -> Iterator[tuple[int, Failure | None]]:
        """Judge every seed's program, several at a time, yielding verdicts as they come."""
        judges = [Judge(timeout, self.judge) for _ in range(min(jobs, len(seeds)))]
        pending = iter(seeds)
        busy: dict[Judge[P], tuple[int, float]] = {}

        def feed(judge: Judge[P]) -> None:
            if (seed := next(pending, None)) is not None:
                judge.submit(self.program_of(seed)[0])
                busy[judge] = seed, time.monotonic()

        for judge in judges:
            feed(judge)
        while busy:
            ready = wait([judge.connection for judge in busy], timeout=1.0)
            now = time.monotonic()
            for judge, (seed, started) in list(busy.items()):
                if judge.connection in ready or now - started > timeout:
                    del busy[judge]
                    yield seed, judge.verdict()
                    feed(judge)
        for judge in judges:
            judge.close()

    def shrunk(self, seed: int, failure: Failure, timeout: float) -> Failure:
        """Return the failure of the smallest program found that fails in the same way."""
        judge = Judge(timeout, self.judge)
        smallest = failure

        def fails(program: P) -> bool:
            nonlocal smallest
            found = judge.judge(program)
            if found is None or found.kind != failure.kind:
                return False
            smallest = found
            return True

        shrink(self.program_of(seed)[1], self.generate, fails)
        judge.close()
        return smallest


def show_progress(done: int, total: int, failures: int, started: float) -> None:
    """Draw the progress bar, on a terminal only."""
    if not sys.stderr.isatty():
        return
    filled = 40 * done // total
    rate = done / (time.monotonic() - started)
    bar = "#" * filled + "." * (40 - filled)
    print(f"\r[{bar}] {done}/{total}  {rate:.1f}/s  {failures} failed", end="", file=sys.stderr, flush=True)


def arguments(description: str | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=10_000, help="how many programs to run")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first program")
    parser.add_argument("--only", type=int, metavar="SEED", help="run the program of this seed alone")
    parser.add_argument("--jobs", type=int, default=2, help="judging processes")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds one program may take")
    parser.add_argument("--shrink", action="store_true", help="make the first failing program of each kind small")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    return parser.parse_args()


def run(description: str | None, fuzzer: Fuzzer[P]) -> int:
    """Run, report, and say by the exit status whether everything agreed."""
    options = arguments(description)
    seeds = range(options.seed, options.seed + options.programs) if options.only is None else (options.only,)
    failures: dict[int, Failure] = {}
    started = time.monotonic()
    for done, (seed, failure) in enumerate(fuzzer.judged(seeds, options.jobs, options.timeout), start=1):
        if failure is not None:
            is_new_kind = failure.kind not in {other.kind for other in failures.values()}
            is_shrunk = options.shrink and is_new_kind
            failures[seed] = fuzzer.shrunk(seed, failure, options.timeout) if is_shrunk else failure
            if not options.json:
                report = failures[seed].report if is_new_kind else failure.kind
                print(f"\nseed {seed}: {report}", flush=True)
        show_progress(done, len(seeds), len(failures), started)
    kinds = Counter(failure.kind for failure in failures.values())
    seconds = time.monotonic() - started
    if options.json:
        reports = {seed: {"kind": failure.kind, "report": failure.report} for seed, failure in failures.items()}
        print(json.dumps({"programs": len(seeds), "seconds": seconds, "kinds": kinds, "failures": reports}, indent=2))
    else:
        print(f"\n{len(seeds)} programs, {len(failures)} failed, {seconds:.0f} s")
        for kind, count in kinds.most_common():
            print(f"{count:6}  {kind}")
    return 1 if failures else 0
