"""How far results of kernels may be from float64."""

from __future__ import annotations

from typing import Any

import numpy as np


def within(actual: np.ndarray, exact: np.ndarray, bound: np.ndarray | float) -> float:
    """Refuse a result anywhere further from the exact one than `bound`; how much of the bound is used at most."""
    error = np.abs(actual.astype(np.float64) - exact)
    np.testing.assert_array_less(error, np.broadcast_to(bound, error.shape))  # NaN is not less
    return float(np.max(error / bound))


def product_bound(a: np.ndarray, b: np.ndarray) -> Any:
    """How far a @ b may be off when every sum is rounded to float32: k roundings of 2**-24 of the summands."""
    return (a.shape[1] + 1) * 2.0**-24 * (np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))) + 1e-30
