"""Kernels as users write them against NumPy and float64: exactly where arithmetic is exact, else within stated bounds.

`KERNEL_SUITE_FACTOR=20` (or `python -m benchmarks.kernel_suite`) draws that many times as many examples, and new ones.
Where NVIDIA's assembler is installed, it has to accept the same kernels (`python -m benchmarks.every_kernel`: for every
architecture).
"""

from __future__ import annotations

import pytest

from tests.differential.kernel_suite.catalogue import CASES
from tests.differential.kernel_suite.recording import compilations, compiled_for
from tests.unit.targets.nvptx.tools import HAS_ASSEMBLER

ARCHITECTURE = "sm_90"
"""Older ones lack instructions that some of the kernels use."""


@pytest.mark.filterwarnings("ignore::triptych.support.errors.PerformanceWarning")  # of tensors that lie anywhere
@pytest.mark.parametrize("name", CASES)
def test_kernel_computes_what_numpy_computes(name: str) -> None:
    jobs = compilations(CASES[name])
    for job in jobs if HAS_ASSEMBLER else []:
        assert compiled_for(job, f"nvptx:{ARCHITECTURE}").resources, job.function
