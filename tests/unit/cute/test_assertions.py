"""`cute.testing.assert_`: an assertion as a call."""

from __future__ import annotations

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.cute.testing import assert_ as holds


@tt.kernel
def asserts(x: cute.Tensor, bound: tt.Int32) -> None:
    i, _, _ = cute.arch.thread_idx()
    holds(x.shape[0] > 0)
    holds(x[i] < bound, "an element is too large")


@tt.jit
def host(x: cute.Tensor, bound: tt.Int32) -> None:
    asserts(x, bound).launch(grid=1, block=32)


def test_an_assertion_holds_or_names_its_line() -> None:
    x = np.arange(32, dtype=np.int32)
    host(x, 32)
    with pytest.raises(AssertionError, match="an element is too large") as raised:
        host(x, 31)
    assert "test_assertions.py" in str(raised.value)
    assert "thread (31, 0, 0)" in str(raised.value)
