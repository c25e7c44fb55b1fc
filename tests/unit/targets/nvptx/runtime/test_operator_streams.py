"""Operators of PyTorch launch on the stream that is current at each call, and wait for nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import triptych as tt
from tests.unit.targets.nvptx.fake_driver import FakeDriver, needs_compiler, on_gpu
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych import cuda, cute

torch: Any = pytest.importorskip("torch")
ours: Any = pytest.importorskip("triptych.torch")
pytestmark = [needs_compiler, needs_assembler]


@tt.kernel
def fill(x: cute.Tensor) -> None:
    x[cute.arch.thread_idx()[0]] = 1.0


@tt.jit(target="nvptx:sm_90a")
def filled(x: cute.Tensor, stream: cuda.CUstream) -> None:
    fill(x).launch(grid=1, block=32, stream=stream)


def test_each_call_asks_for_the_stream(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors of CUDA need a card, so the kernel that the dispatcher has for them is called with other GPU arrays."""
    fake.kernel("fill", "p")
    current = SimpleNamespace(cuda_stream=0)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: current)
    op = ours.op(filled, "triptych_streams::fill", mutates=("x",))
    assert op.schema == "triptych_streams::fill(Tensor(a0!) x) -> ()"
    x = on_gpu(4)
    for stream in (0x10, 0x20, 0x20, 0x10):
        current.cuda_stream = stream
        op._run(x)
    launches = fake.log("launch")
    assert [line.split(" stream ")[1].split()[0] for line in launches] == ["0x10", "0x20", "0x20", "0x10"]
    assert not fake.log("wait")
