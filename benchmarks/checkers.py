"""What checkers cost: the kernels of `benchmarks.kernels` in debug builds, as times of the release build.

    python -m benchmarks.checkers [--json]

Builds run in turns; a ratio is the median over the rounds, of the time of all threads of the process. Users of
compute-sanitizer's racecheck state 10 to 100 times on a GPU; it cannot be run here, so nothing is compared with it.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from statistics import median

from benchmarks.kernel_cases import OURS, Case, Sizes, cases
from benchmarks.report import Row, run
from triptych.support.config import override

BUILDS = ("", "bounds", "races,init")
SIZES = Sizes(1 << 22, (2048, 1024), 512)
ROUNDS = 5
MEDIAN_BARS = {"bounds": 1.2, "races,init": 6.0}
WORST_BARS = {"races,init": 12.0}


def built(name: str) -> tuple[dict[str, Case], dict[str, float]]:
    """One kernel in every build, and the seconds that each took to compile and to run once."""
    found, seconds = {}, {}
    for words in BUILDS:
        with override(debug=words, cache=False):
            started = time.perf_counter()
            (found[words],) = cases(SIZES, name, None)
            seconds[words] = time.perf_counter() - started
            found[words].check()
    return found, seconds


def measured(found: dict[str, Case]) -> dict[str, float]:
    """The times of each build, as multiples of the release build's in the same round."""
    times: dict[str, list[float]] = {words: [] for words in BUILDS}
    for _ in range(ROUNDS):
        for words, case in found.items():
            started = time.process_time()
            case.systems[OURS]()
            times[words].append(time.process_time() - started)
    release = times[""]
    return {words: median(a / b for a, b in zip(times[words], release, strict=True)) for words in BUILDS if words}


def rows() -> Iterator[Row]:
    """One row for each kernel and build, then the median and the worst."""
    names = ("vector_add", "saxpy", "block_reduction", "shuffle_reduction", "softmax", "rms_norm", "tiled_gemm")
    ratios: dict[str, list[float]] = {words: [] for words in BUILDS if words}
    compiling = []
    for name in (*names, "register_gemm_transposed", "register_gemm_wide"):
        found, seconds = built(name)
        compiling.append(seconds["races,init"] / seconds[""])
        for words, ratio in measured(found).items():
            ratios[words].append(ratio)
            yield Row(f"{name}: {words}", ratio, "times")
    for words, each in ratios.items():
        yield Row(f"median: {words}", median(each), "times", MEDIAN_BARS[words])
        yield Row(f"worst: {words}", max(each), "times", WORST_BARS.get(words))
    yield Row("compile time: races,init", median(compiling), "times", 2.0)
    yield Row("memory at the most", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "MiB")


if __name__ == "__main__":
    sys.exit(run(__doc__, lambda: list(rows())))
