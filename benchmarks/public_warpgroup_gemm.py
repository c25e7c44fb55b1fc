"""Speed of a public Hopper GEMM on the CPU, beside NumPy's product of the same size in float32, in turns.

    python -m benchmarks.public_warpgroup_gemm FOLDER                    the folder of the public examples; needs torch
    python -m benchmarks.public_warpgroup_gemm FOLDER --size 512 --tile 128 128 --rounds 11

Prints GFLOP/s of both by their best times, and the ratio by best times and by the median of the rounds.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from triptych.compat import activate

PROGRAM = "cute/hopper/kernel/dense_gemm/dense_gemm_persistent.py"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--tile", type=int, nargs=2, default=(128, 128))
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    activate()
    call = compiled(given.folder / PROGRAM, given.size, tuple(given.tile))
    generator = np.random.default_rng(0)
    x, y = (generator.random((given.size, given.size), np.float32) for _ in range(2))
    out = np.empty_like(x)
    pairs = [(seconds(call), seconds(lambda: np.matmul(x, y, out=out))) for _ in range(given.rounds)]
    mine, theirs = (min(column) for column in zip(*pairs, strict=True))
    work = 2 * given.size**3 / 1e9
    median = statistics.median(other / own for own, other in pairs)
    print(
        f"kernel {work / mine:.1f} GFLOP/s, NumPy {work / theirs:.1f}: {theirs / mine:.2f} by best, {median:.2f} median"
    )


def compiled(path: Path, size: int, tile: tuple[int, int]) -> Callable[[], object]:
    """A call of the program's kernel; whole numbers, so that its result is exact and checked."""
    cutlass: Any = importlib.import_module("cutlass")  # Triptych, under the name that the program imports
    torch: Any = importlib.import_module("torch")
    spec = importlib.util.spec_from_file_location("public_gemm", path)
    assert spec is not None
    assert spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    kernel = next(found for name, found in vars(program).items() if name.startswith("Hopper"))
    values = [torch.empty(1, size, size, dtype=torch.float16).random_(-2, 3).permute(1, 2, 0) for _ in range(3)]
    tensors = [cutlass.cute.runtime.from_dlpack(one, assumed_align=16) for one in values]
    a, b, c = (one.mark_layout_dynamic(leading_dim=1) for one in tensors)
    clusters = cutlass.utils.HardwareInfo().get_max_active_clusters(1)
    stream: Any = cutlass.cuda.default_stream()
    made = kernel(cutlass.Float32, tile, (1, 1), 1, True)
    started = time.process_time()
    function = cutlass.cute.compile(made, a, b, c, clusters, stream)
    print(f"tracing and lowering: {time.process_time() - started:.1f} s of this process")
    function(a, b, c, stream)
    left, right = (one[:, :, 0].float() for one in values[:2])
    assert torch.equal(values[2][:, :, 0], (left @ right.T).half())
    return lambda: function(a, b, c, stream)


def seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
