"""How results are compared: exactly, or against float64 within a bound that the case states."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.differential.kernel_suite.arrays import Array


def same(found: Array, expected: Any) -> None:
    """Every element equal; NaN equals NaN."""
    wanted = np.broadcast_to(np.asarray(expected), found.shape)
    equal = (found == wanted) | ((found != found) & (wanted != wanted))
    wrong = np.argwhere(~equal)
    assert not len(wrong), (
        f"{len(wrong)} of {found.size} elements differ, the first at {tuple(wrong[0])}: "
        f"{found[tuple(wrong[0])]!r} instead of {wanted[tuple(wrong[0])]!r}"
    )


def within(found: Array, expected: Array, bound: Any) -> None:
    """The distance to the float64 result is at most `bound` (a number, or one for each element)."""
    distance = np.abs(found.astype(np.float64) - expected)
    excess = np.where(np.isnan(distance), np.inf, distance - bound)
    assert (excess <= 0).all(), f"{distance.max()} away, {np.max(excess)} over the bound"
