"""What checkers cost: the kernels of `benchmarks.kernels` in debug builds, as times of the release build.

    python -m benchmarks.checkers [--quick] [--json]

Builds run in turns on one thread; a ratio is of the shortest times of the processor, so that what else runs on the
machine counts little. With more threads the clock of the process was seen to miss half of what the others had done, and
only in short runs, those of release builds. Memory is the most that a process had which compiled and ran one kernel.
Users of compute-sanitizer's racecheck state 10 to 100 times on a GPU; it cannot be run here, so nothing is compared
with it.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from statistics import median

from benchmarks.kernel_cases import OURS, Case, Sizes, cases
from benchmarks.rows import Row, run
from triptych.support.config import override

BUILDS = ("", "bounds", "races,init", "global")
SIZES = Sizes(1 << 22, (2048, 1024), 512)
ROUNDS = 11
MEDIAN_BARS = {"bounds": 1.2, "races,init": 6.0, "global": 10.0}
WORST_BARS = {"races,init": 12.0}
COMPILE_BAR, MEMORY_BAR = 2.0, 4.0
NAMES = (
    *("vector_add", "saxpy", "block_reduction", "shuffle_reduction", "softmax", "rms_norm"),
    *("tiled_gemm", "register_gemm_transposed", "register_gemm_wide"),
)
QUICK = ("vector_add", "softmax", "register_gemm_wide")
_PEAK = """
import resource, sys
from benchmarks.checkers import built
built(sys.argv[1], sys.argv[2:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def built(name: str, builds: Sequence[str] = BUILDS) -> tuple[dict[str, Case], dict[str, float]]:
    """One kernel in every build, and the seconds that each took to compile."""
    found, seconds = {}, {}
    for words in builds:
        with override(debug=words, cache=False, threads=1):
            started = time.process_time()
            (found[words],) = cases(SIZES, name, None)
            seconds[words] = time.process_time() - started
            found[words].check()
    return found, seconds


def measured(found: dict[str, Case]) -> dict[str, float]:
    """The shortest time of each build, as a multiple of the release build's."""
    times: dict[str, list[float]] = {words: [] for words in BUILDS}
    for _ in range(ROUNDS):
        for words, case in found.items():
            started = time.process_time()
            case.systems[OURS]()
            times[words].append(time.process_time() - started)
    return {words: min(times[words]) / min(times[""]) for words in BUILDS if words}


def peak(name: str, words: str) -> float:
    """The most memory (MiB) of a process that compiles and runs a kernel in one build."""
    done = subprocess.run([sys.executable, "-c", _PEAK, name, words], capture_output=True, text=True, check=True)
    return float(done.stdout)


def rows(names: Sequence[str] = NAMES) -> Iterator[Row]:
    """One row for each kernel and build, then the median and the worst."""
    debug = [words for words in BUILDS if words]
    ratios: dict[str, list[float]] = {words: [] for words in debug}
    compiling: dict[str, list[float]] = {words: [] for words in debug}
    built(names[0])  # whatever a process does once
    for name in names:
        found, seconds = built(name)
        for words, ratio in measured(found).items():
            ratios[words].append(ratio)
            compiling[words].append(seconds[words] / seconds[""])
            yield Row(f"{name}: {words}", ratio, "times")
    for words, each in ratios.items():
        yield Row(f"median: {words}", median(each), "times", MEDIAN_BARS[words])
        yield Row(f"worst: {words}", max(each), "times", WORST_BARS.get(words))
    for words, each in compiling.items():
        yield Row(f"compile time, median: {words}", median(each), "times", COMPILE_BAR)
        yield Row(f"compile time, worst: {words}", max(each), "times")
    release = peak(names[-1], "")
    for words in debug:
        yield Row(f"memory of {names[-1]}: {words}", peak(names[-1], words) / release, "times", MEMORY_BAR)


if __name__ == "__main__":
    sys.exit(run(__doc__, lambda: list(rows()), lambda: list(rows(QUICK))))
