"""Elements beyond registers: a store of one is left out with a warning, and nobody computes with one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.cute.tracing.errors import TensorIndexError
from triptych.support.errors import TriptychWarning


@tt.jit
def goes_too_far(out: cute.Tensor) -> None:
    """As loops do that count the columns of what they index by rows, and ask coordinates where they are."""
    held = cute.make_rmem_tensor(2, tt.Int32)
    held.fill(7)
    rows = cute.make_identity_tensor((2, 1))
    for i in tt.range_constexpr(4):
        if rows[i, 0][0] < 4:
            out[i, 0] = held[i]


def test_a_store_of_one_is_left_out() -> None:
    out = np.zeros((2, 1), np.int32)
    with pytest.warns(TriptychWarning, match="lies outside"):
        goes_too_far(out)
    assert (out == 7).all()


@pytest.mark.parametrize(
    "use",
    [
        lambda held, out: held[2] + 1,
        lambda held, out: held[2] > 1,
        lambda held, out: tt.Float32(held[2]),
        lambda held, out: held[2].to(tt.Float32),
        lambda held, out: held[-1],
        lambda held, out: out[4],
    ],
    ids=["arithmetic", "comparison", "conversion", "method", "from the end", "global memory"],
)
def test_everything_else_is_refused(use: Any) -> None:
    @tt.jit
    def run(out: cute.Tensor) -> None:
        held = cute.make_rmem_tensor(2, tt.Int32)
        out[0] = tt.Float32(use(held, out))

    with pytest.raises((TensorIndexError, TypeError)):
        run(tt.cute.runtime.from_dlpack(np.zeros(4, np.float32)))
