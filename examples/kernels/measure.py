"""What every kernel example does besides its kernel: check itself, and with `--benchmark` measure itself."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

Run = Callable[[], object]
ROUNDS = 7


def main(check: Run, benchmark: Run) -> None:
    """Run the checks, and on request the benchmark."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--benchmark", action="store_true", help="print time, rate and the ratio to NumPy")
    options = parser.parse_args()
    check()
    if options.benchmark:
        benchmark()


def agree(actual: np.ndarray, exact: np.ndarray, tolerance: float = 0.0) -> None:
    """Refuse a result further from the exact one than `tolerance`, relative to the largest exact number."""
    scale = float(np.max(np.abs(exact), initial=1.0))
    np.testing.assert_allclose(actual, exact, rtol=0, atol=tolerance * scale)


def within(actual: np.ndarray, exact: np.ndarray, bound: np.ndarray | float) -> float:
    """Refuse a result anywhere further from the exact one than `bound`; how much of the bound is used at most."""
    error = np.abs(actual.astype(np.float64) - exact)
    np.testing.assert_array_less(error, np.broadcast_to(bound, error.shape))  # NaN is not less
    return float(np.max(error / bound))


def product_bound(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """How far a @ b may be off when every sum is rounded to float32: k roundings of 2**-24 of the summands."""
    return (a.shape[1] + 1) * 2.0**-24 * (np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))) + 1e-30


def report(name: str, used: float, run: Run, flops: int) -> None:
    """One line: the error as a part of its bound, and the rate of a further run."""
    print(f"{name}: error {used:.2f} of its bound, {flops / seconds(run) / 1e9:.1f} GFLOP/s")


def versus_numpy(name: str, ours: Run, numpys: Run, *, moved: int = 0, flops: int = 0) -> None:
    """Time both in turn, so that both meet the same machine, and print the best times.

    `moved` are the bytes that must cross memory once, `flops` the operations that must be done.
    """
    times = [(seconds(ours), seconds(numpys)) for _ in range(ROUNDS)]
    best, numpy_best = (min(column) for column in zip(*times, strict=True))
    rate = f"{flops / best / 1e9:8.1f} GFLOP/s" if flops else f"{moved / best / 1e9:8.1f} GB/s"
    print(f"{name:32} {best * 1e3:9.3f} ms {rate}   {numpy_best / best:5.2f} x NumPy's speed")


def seconds(run: Run) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start
