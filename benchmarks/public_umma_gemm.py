"""Speed of the public Blackwell GEMMs on the CPU, beside NumPy's product of the same size in float32, in turns.

    python -m benchmarks.public_umma_gemm FOLDER                    the folder of the public examples; needs torch
    python -m benchmarks.public_umma_gemm FOLDER --only pair --size 512 --rounds 11

Each program runs as it is, with its own check; its compiled kernel is what we time. Prints for each the CPU seconds to
compile, GFLOP/s of both by their best times, and NumPy's time to ours by best and by the median of the rounds, in wall
and in CPU time of the process: where other processes take the cores, CPU time is the one to read.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.public_kernels import cpu_seconds
from triptych.compat import activate

DENSE = "cute/blackwell/kernel/dense_gemm/dense_gemm_persistent.py"
SCALED = "cute/blackwell/kernel/blockscaled_gemm/dense_blockscaled_gemm_persistent.py"
_HALVES = ("Float16", "Float16", "Float32", "k", "k", "n")
_NARROW = ("k", "k", "n", (128, 128), (1, 1))
CASES: dict[str, tuple[str, tuple[Any, ...]]] = {
    "one CTA": (DENSE, (*_HALVES, (128, 256), (1, 1), False)),
    "pair": (DENSE, (*_HALVES, (256, 256), (2, 1), True)),
    "mxf8": (SCALED, ("Float8E4M3FN", "Float8E4M3FN", "Float8E8M0FNU", 32, "Float16", *_NARROW)),
    "nvf4": (SCALED, ("Float4E2M1FN", "Float4E2M1FN", "Float8E4M3FN", 16, "Float16", *_NARROW)),
}
"""A program, and the arguments of its `run` after the sizes."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", choices=CASES)
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    activate()
    for name in [given.only] if given.only else CASES:
        timed(name, given)


def timed(name: str, given: argparse.Namespace) -> None:
    """Run a program whose compiled kernel is timed when the program calls it, while its operands live, and checked by
    the program after that."""
    cutlass: Any = importlib.import_module("cutlass")  # Triptych, under the name that the program imports
    cute = cutlass.cute
    compile_ = cute.compile

    def recorded(*arguments: Any, **named: Any) -> Callable[..., None]:
        started = cpu_seconds()
        function = compile_(*arguments, **named)
        print(f"{name}: compiled in {cpu_seconds() - started:.1f} CPU seconds")

        def call(*operands: Any) -> None:
            print(f"{name}: {beside_blas(lambda: function(*operands), given.size, given.rounds)}", flush=True)

        return call

    program, options = CASES[name]
    cute.compile = recorded
    try:
        types = [getattr(cutlass, one) if hasattr(cutlass, str(one)) else one for one in options]
        module_of(given.folder / program).run((given.size, given.size, given.size, 1), *types)
    finally:
        cute.compile = compile_


def module_of(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def beside_blas(call: Callable[[], object], size: int, rounds: int) -> str:
    generator = np.random.default_rng(0)
    x, y = (generator.random((size, size), np.float32) for _ in range(2))
    out = np.empty_like(x)
    pairs = [(seconds(call), seconds(lambda: np.matmul(x, y, out=out))) for _ in range(rounds)]
    work = 2 * size**3 / 1e9
    return both_clocks(pairs, lambda mine, theirs: f"kernel {work / mine:.1f} GFLOP/s, NumPy {work / theirs:.1f}")


def both_clocks(
    pairs: Sequence[tuple[tuple[float, float], tuple[float, float]]], show: Callable[[float, float], str]
) -> str:
    """What the best times of two calls in turns are, and their ratio by best and by median; of the wall's clock and of
    the processor's."""
    parts = []
    for clock, name in enumerate(("wall", "CPU")):
        times = [(own[clock], other[clock]) for own, other in pairs]
        mine, theirs = (min(column) for column in zip(*times, strict=True))
        median = statistics.median(other / own for own, other in times)
        parts.append(f"{name}: {show(mine, theirs)}, {theirs / mine:.2f} by best, {median:.2f} median")
    return "; ".join(parts)


def seconds(call: Callable[[], object]) -> tuple[float, float]:
    """Of the wall's clock and of the process."""
    started, used = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - started, time.process_time() - used


if __name__ == "__main__":
    main()
