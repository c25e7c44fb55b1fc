"""No number of `bench` is the tool's own time: each kind of kernel file beside a plain loop around its kernel.

The machine of a test may be busy, so the loop runs in the same process, and both sides take their smallest sample. The
bound is generous; `benchmarks/bench_and_loop.py` prints the ratios, which are near 1 on a quiet machine.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from benchmarks.bench_and_loop import FILES, NEED_TORCH, both

KINDS = ("numpy_scale", "numpy_outputs", "numpy_plan", "tuned_scale", *NEED_TORCH)


@pytest.mark.parametrize("kind", KINDS)
def test_what_bench_prints_is_the_kernels_time(kind: str, tmp_path: Path) -> None:
    if kind in NEED_TORCH:
        pytest.importorskip("torch")
    file = tmp_path / f"{kind}.py"
    shutil.copy(FILES / f"{kind}.txt", file)
    told, loop = both(file, 0.1)
    assert told <= 1.5 * loop + 5e-6
    assert told >= 0.5 * loop
