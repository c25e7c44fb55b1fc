"""How often the workbench is wrong: comparisons of equal and of slower kernels, and honest kernels that are refused.

    python -m benchmarks.workbench_trials comparisons --trials 200 [--busy]
    python -m benchmarks.workbench_trials honest --runs 1000

The tests run short slices of both, on samples that are made up; this needs minutes, and says how busy the machine was.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections import Counter

import numpy as np

import triptych as tt
from tests.unit.workbench import corpus
from triptych.workbench.measurement.clocks import HostClock
from triptych.workbench.measurement.sampling import in_turns, warm_up
from triptych.workbench.verification.verifying import VerifyOptions, verify

_STEPS = 20_000
_BUSY = "while True: pass"


@tt.jit
def spin(n: tt.Int32, x: tt.Float32) -> tt.Float32:
    for _ in range(n):
        x = x * 0.999 + 0.5
    return x


@tt.jit
def spin_too(n: tt.Int32, x: tt.Float32) -> tt.Float32:
    for _ in range(n):
        x = x * 0.999 + 0.5
    return x


def comparisons(trials: int, busy: bool, seconds: float) -> None:
    """Of a kernel of about 100 µs with itself, and with one that does 2 % and 5 % more."""
    other = subprocess.Popen([sys.executable, "-S", "-c", _BUSY]) if busy else None
    try:
        spin(_STEPS, 1.0)
        spin_too(_STEPS, 1.0)
        for slower in (0.0, 0.02, 0.05):
            more = round(_STEPS * (1 + slower))
            verdicts: Counter[str] = Counter()
            took = []
            for trial in range(trials):
                started = time.perf_counter()
                clock = HostClock()
                first, second = (lambda: spin(_STEPS, 1.0)), (lambda more=more: spin_too(more, 1.0))
                warm_up(first, 0.02)
                verdicts[in_turns(first, second, clock, seconds, trial).verdict] += 1
                took.append(time.perf_counter() - started)
            each = f"{np.median(took):.2f} s each, load {os.getloadavg()[0]:.1f}"
            print(f"{slower:4.0%} slower: {dict(verdicts)}, {each}", flush=True)
    finally:
        if other is not None:
            other.kill()
            other.wait()


def honest(runs: int) -> None:
    """Honest kernels of the tests' corpus over many seeds."""
    refused, names = [], list(corpus.HONEST)
    for run in range(runs):
        name = names[run % len(names)]
        contract = corpus.contract(*corpus.HONEST[name])
        seed = run // len(names)
        shifted = corpus.contract(contract.kernel, contract.reference, _seeded(contract.get_inputs, seed))
        found = verify(shifted, VerifyOptions(seeds=1))
        if found.verdict != "pass":
            refused.append((name, seed, found.findings[0].text))
    print(f"{len(refused)} of {runs} runs of {len(names)} honest kernels refused", *refused[:10], sep="\n")


def _seeded(get_inputs: corpus.Function, shift: int) -> corpus.Function:
    return lambda seed=0: get_inputs(seed=seed + 7919 * shift)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("comparisons", "honest"))
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--busy", action="store_true", help="beside a process that does nothing as fast as it can")
    chosen = parser.parse_args()
    if chosen.what == "honest":
        honest(chosen.runs)
    else:
        comparisons(chosen.trials, chosen.busy, chosen.seconds)


if __name__ == "__main__":
    main()
