"""How often the workbench is wrong: comparisons of equal and of slower kernels, and honest kernels that are refused.

    python -m benchmarks.workbench_trials comparisons --microseconds 5 20 200 5000 --slower 0 0.03 [--busy]
    python -m benchmarks.workbench_trials commands --trials 5 [--busy]
    python -m benchmarks.workbench_trials honest --runs 1000
    python -m benchmarks.workbench_trials wrong

`comparisons` does what `triptych bench A B` does in its child, which compares in processes of their own; `commands`
runs the whole command, and says how long that takes. The tests run short slices of the
statistics, on samples that are made up; this needs minutes, and says how busy the machine was.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.unit.workbench import corpus
from triptych.workbench.measurement.worker import worker_main
from triptych.workbench.verification.verifying import VerifyOptions, verify

_STEPS = 360
"""About 1 µs."""
_SLOWER = (0.0, 0.02, 0.05)
_BUSY = "while True: pass"
_EVERY = 20
_FILE = """
import numpy as np
import triptych as tt


@tt.jit
def spin(n: tt.Int32, x: tt.Float32) -> tt.Float32:
    for _ in range(n):
        x = x * 0.999 + 0.5
    return x


def kernel_fn(x):
    return np.array([spin(STEPS, float(x[0]))], np.float32)


def reference_fn(x):
    return np.array([500.0], x.dtype)


TOLERANCE = 1e-2


def get_inputs(seed=0):
    return [np.ones(1, np.float32)]
"""
Compare = Callable[[list[str], int], dict[str, Any]]


def comparisons(compare: Compare, trials: int, busy: bool, slower_by: list[float], lengths: list[int]) -> None:
    """Of kernels of about so many microseconds with themselves, and with such that do a few percent more."""
    other = subprocess.Popen([sys.executable, "-S", "-c", _BUSY]) if busy else None
    try:
        with tempfile.TemporaryDirectory() as folder:
            for length in lengths:
                print(f"about {length} µs:", flush=True)
                for slower in slower_by:
                    _trials(_files(Path(folder), slower, length), slower, compare, trials)
    finally:
        if other is not None:
            other.kill()
            other.wait()


def _files(folder: Path, slower: float, length: int) -> list[str]:
    made, once = [], _STEPS * length
    for name, steps in (("first.py", once), ("second.py", round(once * (1 + slower)))):
        file = folder / name
        file.write_text(_FILE.replace("STEPS", str(steps)), encoding="utf-8")
        made.append(str(file))
    return made


def _trials(files: list[str], slower: float, compare: Compare, trials: int) -> None:
    verdicts: Counter[str] = Counter()
    took, centres, rounds, loads = [], [], [], []
    for trial in range(trials):
        started = time.perf_counter()
        found = compare(files, trial)
        took.append(time.perf_counter() - started)
        verdicts[found["verdict"]] += 1
        centres.append(100 * (found["ratio"] - 1))
        rounds.append(found["rounds"])
        loads.append(os.getloadavg()[0])
        if found["verdict"] == "undecided":
            print(f"  undecided after {took[-1]:.1f} s: {found['text']}", file=sys.stderr, flush=True)
        if trial % _EVERY == _EVERY - 1:
            print(
                f"  {slower:.0%}: {trial + 1} done, {dict(verdicts)}, load {loads[-1]:.1f}", file=sys.stderr, flush=True
            )
    middle, late, last = np.percentile(took, [50, 95, 100])
    low, centre, high = np.percentile(centres, [0, 50, 100])
    print(
        f"{slower:.0%} slower: {dict(verdicts)} of {trials}; ratio {centre:+.2f} % ({low:+.2f} to {high:+.2f}); "
        f"{np.median(rounds):.0f} rounds; {middle:.2f} s each (95 %: {late:.2f}, longest {last:.2f}); "
        f"load {np.median(loads):.1f}",
        flush=True,
    )


def _in_this_process(files: list[str], seed: int) -> dict[str, Any]:
    request = {"files": files, "seconds": 2.0, "seed": seed, "cold": True, "with_roofs": False, "cases": []}
    return dict(worker_main({**request, "command": []}, lambda _: None)["cases"][0]["comparison"])


def _by_command(files: list[str], seed: int) -> dict[str, Any]:
    words = [sys.executable, "-m", "triptych", "bench", *files, "--json", "--seed", str(seed)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout)["cases"][0]["comparison"])


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
    print(f"{len(refused)} of {runs} runs of {len(names)} honest kernels refused", *refused, sep="\n")


def _seeded(get_inputs: corpus.Function, shift: int) -> corpus.Function:
    return lambda seed=0: get_inputs(seed=seed + 7919 * shift)


def wrong() -> None:
    """Wrong and cheating kernels: what each is refused for, and whether `assert_close` at 1e-3 accepts it."""
    right, accepted = 0, 0
    for one in corpus.WRONG:
        found = verify(one.contract(), VerifyOptions(seeds=1))
        for process in corpus.LEFT:
            process.kill()
            process.wait()
        corpus.LEFT.clear()
        good = found.verdict == "fail" and found.reasons[0] in one.reasons
        plain = corpus.plain_check_accepts(one)
        right, accepted = right + good, accepted + plain
        text = found.findings[0].text if found.findings else ""
        print(
            f"{one.name:32} {found.verdict} {found.reasons} {'ACCEPTED' if plain else 'refused'} by 1e-3: {text[:90]}"
        )
    print(f"{right} of {len(corpus.WRONG)} refused for the right reason; rtol = atol = 1e-3 accepts {accepted} of them")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("comparisons", "commands", "honest", "wrong"))
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--microseconds", type=int, nargs="*", default=[100], help="of the kernels (default: 100)")
    parser.add_argument("--slower", type=float, nargs="*", help="parts, as 0.05 (default: 0, 0.02 and 0.05)")
    parser.add_argument("--busy", action="store_true", help="beside a process that does nothing as fast as it can")
    chosen = parser.parse_args()
    match chosen.what:
        case "honest":
            honest(chosen.runs)
        case "wrong":
            wrong()
        case what:
            compare = _in_this_process if what == "comparisons" else _by_command
            comparisons(compare, chosen.trials, chosen.busy, chosen.slower or list(_SLOWER), chosen.microseconds)


if __name__ == "__main__":
    main()
