"""Programmatic dependent launch: instructions on GPUs that have it, a refusal on others, nothing to do on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.unit.targets.nvptx.programs import vector
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych import cute
from triptych.objectstage.device_errors import ArchitectureError


@tt.kernel
def add_one(x: cute.Tensor, y: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    cute.arch.griddepcontrol_wait()
    y[thread] = x[thread] + 1.0
    cute.arch.griddepcontrol_launch_dependents()


@tt.kernel
def read_twice(x: cute.Tensor, y: cute.Tensor) -> None:
    """What is read before the wait may be old: the second load must stay behind it."""
    thread, _, _ = cute.arch.thread_idx()
    before = x[thread]
    cute.arch.griddepcontrol_wait()
    y[thread] = x[thread] - before
    cute.arch.griddepcontrol_launch_dependents()


@tt.jit
def launched(kernel: tt.Constexpr[Any], x: cute.Tensor, y: cute.Tensor) -> None:
    kernel(x, y).launch(grid=1, block=32, use_pdl=True)
    kernel(y, x).launch(grid=1, block=32, use_pdl=True)


@needs_assembler
def test_loads_stay_on_their_side_of_the_wait() -> None:
    ptx = tt.compile(launched, read_twice, vector(), vector(), target="nvptx:sm_90").__ptx__
    words = [word for word in ptx.split() if word.startswith(("ld.global", "griddepcontrol", "st.global"))]
    once = ["ld.global.b32", "griddepcontrol.wait;", "ld.global.b32", "st.global.b32"]
    assert words == [*once, "griddepcontrol.launch_dependents;"] * 2


def test_gpus_without_it() -> None:
    with pytest.raises(ArchitectureError, match="sm_89") as raised:
        tt.compile(launched, read_twice, vector(), vector(), target="nvptx:sm_89")
    assert raised.value.span is not None
    assert "griddepcontrol_wait" in raised.value.span.text()


def test_launches_on_the_cpu_do_not_overlap() -> None:
    x, y = np.zeros(32, np.float32), np.zeros(32, np.float32)
    launched(add_one, x, y)
    np.testing.assert_array_equal(y, 1)
    np.testing.assert_array_equal(x, 2)
