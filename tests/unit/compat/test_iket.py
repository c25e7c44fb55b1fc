"""Ranges of in-kernel event tracing, which emit nothing; `triptych.compat.utils.iket`."""

from __future__ import annotations

import numpy as np
import pytest

import triptych as tt
from tests.ir.traced import traced_ir
from triptych import cute
from triptych.compat.utils import iket
from triptych.cute.tracing.errors import DeviceOnlyError


def program(*, marked: bool) -> object:
    @tt.kernel
    def twice(x: cute.Tensor) -> None:
        t, _, _ = cute.arch.thread_idx()
        if tt.const_expr(marked):
            iket.range_push("twice", t)
        x[t] = x[t] * 2.0
        if tt.const_expr(marked):
            iket.range_pop()

    @tt.jit
    def run(x: cute.Tensor) -> None:
        twice(x).launch(grid=1, block=32)

    return run


def test_ranges_emit_nothing() -> None:
    x = np.ones(32, np.float32)
    with_ranges, without = (traced_ir(program(marked=marked), x) for marked in (True, False))
    assert with_ranges == without


def test_ranges_belong_to_kernels() -> None:
    with pytest.raises(DeviceOnlyError):
        iket.range_pop()
