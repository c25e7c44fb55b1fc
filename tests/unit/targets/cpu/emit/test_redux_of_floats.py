"""Warp reductions of floats on the CPU: the least and the greatest number, and what is no number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.unit.cute.launched import run
from triptych import cute

pytestmark = pytest.mark.cpu


@tt.kernel
def redux_of_floats(
    values: cute.Pointer, out: cute.Pointer, kind: tt.Constexpr[Any], options: tt.Constexpr[Any]
) -> None:
    lane = cute.arch.lane_idx()
    mine, there = (cute.make_tensor(each + lane, cute.make_layout(1)) for each in (values, out))
    there[0] = cute.arch.warp_redux_sync(mine[0], kind, **options)


@pytest.mark.parametrize("nan", [False, True])
@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize(("kind", "model"), [("fmax", np.fmax), ("fmin", np.fmin)])
def test_redux_of_floats(kind: str, model: Any, absolute: bool, nan: bool) -> None:
    values = np.random.default_rng(3).standard_normal(32).astype(np.float32)
    for holes in (0, 1, 32):
        values[:holes] = np.nan
        out = np.zeros_like(values)
        run(redux_of_floats, [values, out], kind, {"abs": absolute, "nan": nan})
        taken = np.abs(values) if absolute else values
        expected = np.float32(np.nan) if (nan and holes) or holes == 32 else model.reduce(taken)
        np.testing.assert_array_equal(out, expected)
