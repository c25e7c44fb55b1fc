"""Kernels on a real GPU, from Python to the numbers that come back.

Run on a machine with an NVIDIA GPU: `pip install 'triptych[cuda]'`, then `python -m pytest tests/gpu -v`. Everywhere
else the tests are skipped, and `-rs` shows why. PyTorch is used where it is installed with CUDA.
"""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.unit.targets.nvptx.programs import EXAMPLES, example
from tests.unit.targets.nvptx.tools import needs_assembler
from triptych import cuda, cute
from triptych.diagnostics.tensor_errors import ArgumentTensorError
from triptych.objectstage.device_errors import DriverError, NoGpuError
from triptych.targets.nvptx.description.architectures import ARCHITECTURES
from triptych.targets.nvptx.runtime.driver import find_driver
from triptych.workbench.doctor.worker import GpuArray, architecture


def _missing() -> str:
    try:
        return "" if find_driver() is not None else "needs an NVIDIA GPU: no driver is installed"
    except (NoGpuError, DriverError) as error:
        return f"needs an NVIDIA GPU: {error.title}"


MISSING = _missing()
pytestmark = [pytest.mark.skipif(bool(MISSING), reason=MISSING), needs_assembler]


@cache
def target() -> str:
    """The target for this machine's GPU; one with instructions of its own is preferred."""
    name = architecture()
    known = [candidate for candidate in (f"{name}a", name) if candidate in ARCHITECTURES]
    return f"nvptx:{known[0]}" if known else pytest.skip(f"there is no target for {name}")


@cache
def compiled(name: str) -> Any:
    """An example, for this machine's GPU."""
    function, arguments = EXAMPLES[name]()
    return tt.compile(function, *arguments, target=target())


def random(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape, np.float32)


@pytest.mark.parametrize("name", ["vector add by elements", "vector add by vectors"])
@pytest.mark.parametrize("count", [0, 4, 1000, 1 << 20])
def test_vector_add(name: str, count: int) -> None:
    a, b = random(count), random(count)
    result = GpuArray(np.zeros(count, np.float32))
    compiled(name)(GpuArray(a), GpuArray(b), result)
    assert np.array_equal(result.numpy(), a + b)


@pytest.mark.parametrize("count", [4, 4096, 1_000_000])
def test_reduction(count: int) -> None:
    x = np.abs(random(count))
    blocks = -(-count // example("block_reduction").PER_BLOCK)
    padded = -(-blocks // 4) * 4  # the example is compiled for vectors of a multiple of four
    sums, total = (GpuArray(np.zeros(n, np.float32)) for n in (padded, 4))
    compiled("block reduction")(GpuArray(x), sums, total)
    assert total.numpy()[0] == pytest.approx(x.sum(dtype=np.float64), rel=1e-5)


@pytest.mark.parametrize("shape", [(1, 4), (7, 1000), (64, 256)])
def test_softmax(shape: tuple[int, int]) -> None:
    x = random(*shape)
    result = GpuArray(np.zeros(shape, np.float32))
    compiled("softmax")(GpuArray(x), result)
    np.testing.assert_allclose(result.numpy(), example("softmax").exact_softmax(x), rtol=1e-5, atol=1e-7)


def test_an_array_of_the_host_is_refused() -> None:
    x = np.zeros(4, np.float32)
    with pytest.raises(ArgumentTensorError, match="not in memory of a GPU"):
        compiled("vector add by elements")(x, x, x)


def test_a_cubin_for_another_gpu_is_refused() -> None:
    own = target().partition(":")[2].rstrip("a")
    other = next(f"nvptx:{name}" for name in ("sm_120a", "sm_90a") if name.rstrip("a") != own)
    function, arguments = EXAMPLES["relu"]()
    with pytest.raises(DriverError, match="NO_BINARY_FOR_GPU"):
        tt.compile(function, *arguments, target=other)(GpuArray(random(4)), GpuArray(random(4)))


# PyTorch --------------------------------------------------------------------------------------------------------
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs PyTorch")


@needs_torch
@pytest.mark.parametrize("own_stream", [False, True])
def test_tensors_and_streams_of_torch(own_stream: bool) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs PyTorch with CUDA")
    a, b = (torch.randn(1 << 20, device="cuda") for _ in range(2))
    result = torch.zeros_like(a)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream() if own_stream else None
    compiled("vector add by vectors")(a, b, result, stream=stream)
    torch.cuda.synchronize()
    assert torch.equal(result, a + b)


@needs_torch
@pytest.mark.parametrize("use_pdl", [False, True])
def test_a_stream_of_torch_as_an_argument(use_pdl: bool) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs PyTorch with CUDA")
    if use_pdl and ARCHITECTURES[target().partition(":")[2]].generation < 90:
        pytest.skip("needs a GPU that overlaps launches")

    @tt.kernel
    def add_one(x: cute.Tensor, y: cute.Tensor) -> None:
        i = cute.arch.block_idx()[0] * 128 + cute.arch.thread_idx()[0]
        if tt.const_expr(use_pdl):
            cute.arch.griddepcontrol_wait()
        y[i] = x[i] + 1.0

    @tt.jit
    def add_two(x: cute.Tensor, y: cute.Tensor, stream: cuda.CUstream) -> None:
        blocks = cute.size(x) // 128
        add_one(x, y).launch(grid=blocks, block=128, stream=stream)
        add_one(y, x).launch(grid=blocks, block=128, stream=stream, use_pdl=use_pdl)

    x, y = torch.zeros(1 << 20, device="cuda"), torch.zeros(1 << 20, device="cuda")
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    tt.compile(add_two, x, y, stream, target=target())(x, y, stream)
    cuda.stream_sync(stream)
    assert torch.equal(x, torch.full_like(x, 2))
