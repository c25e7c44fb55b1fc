"""Tensors of torch's FakeTensorMode: functions are compiled for them, and run with tensors that have memory."""

from __future__ import annotations

from typing import Any

import pytest

import triptych as tt
from triptych import cute
from triptych.cute.runtime import from_dlpack
from triptych.diagnostics.tensor_errors import ArgumentTensorError

torch = pytest.importorskip("torch")
fake_tensor = pytest.importorskip("torch._subclasses.fake_tensor")


@tt.jit
def double(x: cute.Tensor) -> None:
    for i in range(cute.size(x)):
        x[i] = x[i] * 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bfloat16])
def test_compiled_in_the_mode_and_called_outside(dtype: Any) -> None:
    with fake_tensor.FakeTensorMode():
        fake = from_dlpack(torch.zeros((3, 4), dtype=dtype))
        compiled = cute.compile(double, fake)
    assert (fake.shape, fake.stride) == ((3, 4), (4, 1))
    real = torch.arange(12).reshape(3, 4).to(dtype)
    compiled(from_dlpack(real))
    assert real.tolist() == [[0, 2, 4, 6], [8, 10, 12, 14], [16, 18, 20, 22]]
    with pytest.raises(ArgumentTensorError, match="has another stride"):
        compiled(torch.zeros((4, 3), dtype=dtype).t())


def test_marked_as_others_are() -> None:
    with fake_tensor.FakeTensorMode():
        compiled = cute.compile(double, from_dlpack(torch.zeros(8)).mark_layout_dynamic())
    for count in (3, 5):
        real = torch.ones(count)
        compiled(real)
        assert real.tolist() == [2.0] * count


def test_there_is_nothing_to_run_on() -> None:
    with fake_tensor.FakeTensorMode():
        fake = from_dlpack(torch.zeros(8))
    with pytest.raises(ArgumentTensorError, match="has no memory"):
        double(fake)
