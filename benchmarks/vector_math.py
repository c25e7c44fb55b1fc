"""What functions of vectors cost per element, against one call of the C library per lane and against NumPy.

python -m benchmarks.vector_math [--json]
python -m benchmarks.vector_math --exhaustive exp log tanh

The second form measures no time: it compares every `f32` there is with double precision, a minute or two each, and
fails when an error is larger than the formula states. Without names it takes every function of one operand.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from benchmarks.rows import Row, run
from tests.support.float_oracles import ORACLES, Array, errors, expected
from tests.support.vector_kernels import ARITIES, Kernel, Operation, compiled
from triptych.kernel_ir.transforms.mathematics.formulas import FORMULAS

RANGES = {
    "acos": (-1, 1),
    "acosh": (1, 10),
    "asin": (-1, 1),
    "atanh": (-1, 1),
    "cbrt": (0.1, 10),
    "erf": (-3, 3),
    "log": (0.01, 100),
    "log10": (0.01, 100),
    "log1p": (0.01, 100),
    "log2": (0.01, 100),
    "powf": (0.1, 10),
}
"""Ordinary operands; the other functions take any."""
ORDINARY = (-10.0, 10.0)
LANES = 32
COUNT, REPETITIONS, ROUNDS = 4096, 20, 15
BAR = 0.5
"""Time of a vector function as a share of the time of calls of the library."""
CHUNK = 1 << 20


def nanoseconds(action: Callable[[], object], elements: int) -> float:
    """For one element, in the fastest of several rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return best / elements * 1e9


def operands(name: str) -> list[Array]:
    random = np.random.default_rng(0)
    count, _ = ARITIES.get(name, (1, 1))
    low, high = RANGES.get(name, ORDINARY)
    return [random.uniform(low, high, COUNT).astype(np.float32) for _ in range(count)]


def cost(kernel: Kernel, values: Sequence[Array]) -> float:
    arrays = [*(kernel.room(COUNT, value) for value in values), kernel.room(COUNT)]
    return nanoseconds(lambda: kernel.run(arrays, COUNT, REPETITIONS), COUNT * REPETITIONS)


def rows_of(name: str) -> list[Row]:
    values = operands(name)
    operation = Operation.of(name, lanes=LANES)
    vector, calls = cost(compiled(operation), values), cost(compiled(operation, vectorised=False), values)
    rows = [
        Row(f"{name}: vector", vector, "ns"),
        Row(f"{name}: calls of the library", calls, "ns"),
        Row(f"{name}: vector / calls", vector / calls, "times", BAR),
    ]
    numpy_function = ORACLES[name]
    if isinstance(numpy_function, np.ufunc):
        result = np.empty(COUNT, np.float32)
        rows.append(Row(f"{name}: NumPy", nanoseconds(lambda: numpy_function(*values, out=result), COUNT), "ns"))
    return rows


def measure() -> Sequence[Row]:
    """Every function with an oracle, on operands that stay in the first level of the cache."""
    return [row for name in ORACLES for row in rows_of(name)]


def every_float() -> Iterator[Array]:
    for start in range(0, 1 << 32, CHUNK):
        yield np.arange(start, start + CHUNK, dtype=np.uint64).astype(np.uint32).view(np.float32)


def largest_error(name: str) -> float:
    """Over all floats, with the place of the largest one."""
    kernel = compiled(Operation.of(name))
    worst, place = 0.0, np.float32(0)
    for number, x in enumerate(every_float(), 1):
        error = errors(kernel(x), expected(name, x))
        index = int(np.argmax(error))
        if error[index] > worst:
            worst, place = float(error[index]), x[index]
        show_progress(f"{name}: {worst:.3f} ulp at {place}", number * CHUNK / (1 << 32))
    print(f"\r{name}: {worst:.3f} ulp at {place!r}, stated {FORMULAS[f'math.{name}'].ulps}".ljust(79), flush=True)
    return worst


def show_progress(what: str, share: float) -> None:
    """A line that overwrites itself, where someone looks."""
    if sys.stdout.isatty():
        filled = round(30 * share)
        print(f"\r[{'#' * filled}{'.' * (30 - filled)}] {100 * share:5.1f} %  {what}", end="", flush=True)


def check_every_float(names: Sequence[str]) -> int:
    unary = [name for name in ORACLES if name not in ARITIES]
    return int(any(largest_error(name) > FORMULAS[f"math.{name}"].ulps for name in names or unary))


def main() -> int:
    if "--exhaustive" not in sys.argv:
        return run(__doc__, measure)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--exhaustive", nargs="*", metavar="FUNCTION", help="compare every f32 with double precision")
    return check_every_float(parser.parse_args().exhaustive)


if __name__ == "__main__":
    sys.exit(main())
