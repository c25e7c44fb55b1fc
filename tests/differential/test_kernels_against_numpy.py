"""Kernels as users write them against NumPy and float64: exactly where arithmetic is exact, else within stated bounds.

`KERNEL_SUITE_FACTOR=20` (or `python -m benchmarks.kernel_suite`) draws that many times as many examples, and new ones.
"""

from __future__ import annotations

import pytest

from tests.differential.kernel_suite.catalogue import CASES


@pytest.mark.parametrize("name", CASES)
def test_kernel_computes_what_numpy_computes(name: str) -> None:
    CASES[name]()
