"""torch on the CPU in the place of CUDA: programs see a GPU, results are right, and torch is as before afterwards."""

from __future__ import annotations

import importlib
import math
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import triptych as tt
from triptych import cute
from triptych.compat import torch_on_cpu
from triptych.compat.errors import CudaCallError
from triptych.compat.modelled_gpu import ModelledGpuError
from triptych.cute.runtime import from_dlpack
from triptych.support.config import override

torch: Any = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    undo = torch_on_cpu.install()
    yield
    undo()


@cute.kernel
def _add_one(x: cute.Tensor) -> None:
    i, _, _ = cute.arch.thread_idx()
    x[i] = x[i] + 1


@cute.jit
def add_one(x: cute.Tensor) -> None:
    _add_one(x).launch(grid=1, block=cute.size(x))


@cute.jit
def doubled(x: tt.Int32) -> tt.Int32:
    return x * 2


def test_profiles_of_the_gpu_are_of_the_cpu() -> None:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA], record_shapes=True) as profile:
        torch.ones(3, device="cuda").sum()
    assert "aten::sum" in profile.key_averages().table(sort_by="cuda_time_total", row_limit=20)


def test_torch_is_untouched_afterwards() -> None:
    program = """
import torch
from triptych.compat import torch_on_cpu

def namespaces():
    places = (torch, torch.cuda, torch.cuda.nvtx, torch.cuda.streams, torch.cuda.graphs, torch.version, torch.Tensor)
    return [dict(vars(place)) for place in places], torch.overrides._get_current_function_mode_stack()

before = namespaces()
undo = torch_on_cpu.install()
assert torch.cuda.is_available() and torch.zeros(2, device="cuda").is_cuda
undo()
after = namespaces()
for one, other in zip(before[0], after[0]):
    assert one.keys() == other.keys() and all(one[name] is other[name] for name in one)
assert before[1] == after[1] == []
assert not torch.cuda.is_available()
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_torch_that_is_imported_later_is_changed_too() -> None:
    program = """
import sys
from triptych.compat import torch_on_cpu

undo = torch_on_cpu.install()
assert "torch" not in sys.modules
import torch
assert torch.cuda.is_available() and type(torch.__spec__.loader).__name__ == "SourceFileLoader"
undo()
assert not torch.cuda.is_available()
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_undoing_before_torch_is_imported_leaves_nothing() -> None:
    program = """
import sys
from triptych.compat import torch_on_cpu

before = list(sys.meta_path)
torch_on_cpu.install()()
assert sys.meta_path == before
import torch
assert not torch.cuda.is_available()
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("device", ["cuda", "cuda:0", 0, torch.device("cuda")])
def test_factories_take_the_gpu(device: object) -> None:
    for made in (
        torch.empty(3, device=device),
        torch.randn(3, device=device),
        torch.arange(3, device=device),
        torch.tensor([1, 2], device=device),
        torch.as_tensor([1, 2], device=device),
        torch.zeros(3).to(device),
        torch.zeros(3).cuda(),
        torch.zeros_like(torch.zeros(3), device=device),
        torch.full((2,), 1.0, device=device, pin_memory=False),
    ):
        assert made.device == torch.device("cuda", 0)
        assert made.device.type == "cuda"
        assert made.is_cuda
        assert not made.is_cpu
        assert made.get_device() == 0


def test_what_comes_from_the_gpu_is_there() -> None:
    x = torch.ones(4, 4, device="cuda")
    for made in (x + 1, x[1:], x.T, x.sum(), x @ x, x.half(), torch.cat([x, x]), x.unbind(0)[0], torch.empty_like(x)):
        assert made.is_cuda
    assert not torch.ones(2).is_cuda
    assert not x.cpu().is_cuda
    assert x.to("cpu", torch.float16).device.type == "cpu"
    assert torch.ones(2).to(x).is_cuda
    assert torch.nn.Linear(2, 2).cuda().weight.is_cuda


def test_a_change_of_device_is_a_copy_and_no_change_is_none() -> None:
    x = torch.zeros(3)
    y = x.cuda()
    y += 1
    assert x.sum() == 0
    assert y.cpu().data_ptr() != y.data_ptr()
    assert y.cuda() is y
    assert y.to("cuda") is y
    assert x.cpu() is x
    assert torch.as_tensor(y, device="cuda") is y
    assert torch.as_tensor(x, device="cuda").data_ptr() != x.data_ptr()


def test_tensors_print_as_on_a_gpu_and_numpy_cannot_see_them() -> None:
    x = torch.zeros(2, device="cuda", dtype=torch.float16)
    assert repr(x) == f"{x}" == "tensor([0., 0.], device='cuda:0', dtype=torch.float16)"
    assert repr(x.cpu()) == "tensor([0., 0.], dtype=torch.float16)"
    with pytest.raises(TypeError, match="cpu"):
        x.numpy()
    assert x.type() == "torch.cuda.HalfTensor"


def test_default_devices() -> None:
    with torch.device("cuda"):
        assert torch.zeros(2).is_cuda
        assert not torch.zeros(2, device="cpu").is_cuda
    torch.set_default_device("cuda")
    try:
        assert torch.zeros(2).is_cuda
    finally:
        torch.set_default_device(None)
    assert not torch.zeros(2).is_cuda


def test_generators() -> None:
    one, other = torch.Generator(device="cuda"), torch.Generator("cuda")
    one.manual_seed(5)
    other.manual_seed(5)
    assert one.device.type == "cuda"
    assert torch.equal(torch.rand(4, generator=one, device="cuda"), torch.rand(4, generator=other, device="cuda"))


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_products_of_halves_are_summed_in_float32(kind: str) -> None:
    """4096 products of 1: a sum in half precision stops growing at 2048 (f16) or 256 (bf16)."""
    dtype, n = getattr(torch, kind), 4096
    a, b = torch.ones(2, n, device="cuda", dtype=dtype), torch.ones(n, 3, device="cuda", dtype=dtype)
    products = [
        a @ b,
        torch.matmul(a, b),
        torch.mm(a, b),
        torch.einsum("mk,kn->mn", a, b),
        torch.nn.functional.linear(a, b.T),
        torch.bmm(a[None], b[None])[0],
        torch.baddbmm(torch.zeros(1, 2, 3, dtype=dtype), a[None], b[None])[0],
        torch.addmm(torch.zeros(2, 3, dtype=dtype), a, b),
        torch.zeros(2, 3, dtype=dtype).addmm_(a, b),
        torch.mm(a, b, out=torch.empty(2, 3, dtype=dtype)),
    ]
    for found in products:
        assert found.dtype == dtype
        assert (found == n).all()
    assert torch.mm(a, b, out_dtype=torch.float32).dtype == torch.float32
    wide = torch.mm(a.float(), b.float(), out_dtype=torch.float64)  # PyTorch has it for GPUs only
    assert (wide.dtype, (wide == n).all()) == (torch.float64, True)


def test_the_device_is_the_modelled_one() -> None:
    with override(gpu="h100"):
        assert torch.cuda.get_device_capability() == (9, 0)
        assert torch.cuda.get_device_properties(torch.device("cuda")).multi_processor_count == 132
        assert torch.cuda.get_device_name() == "NVIDIA H100"
    assert torch.cuda.device_count() == 1
    assert torch.cuda.current_device() == 0
    assert torch.cuda.mem_get_info()[0] > 0
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.set_device("cuda:0")
    with torch.cuda.device(0), torch.cuda.nvtx.range("a part"):
        pass
    with pytest.raises(ModelledGpuError):
        torch.cuda.set_device(1)
    with pytest.raises(ModelledGpuError):
        torch.zeros(1, device="cuda:3")


def test_streams_and_events() -> None:
    assert torch.cuda.current_stream() == torch.cuda.default_stream()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() is stream
    assert torch.cuda.current_stream().cuda_stream == 0
    assert stream.cuda_stream != 0
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    with pytest.raises(ValueError, match="recorded"):
        start.elapsed_time(end)
    start.record()
    end.record(stream)
    end.synchronize()
    assert start.elapsed_time(end) >= 0
    with pytest.raises(ValueError, match="enable_timing"):
        start.elapsed_time(torch.cuda.Event())


def test_kernels_take_these_tensors_and_streams() -> None:
    x = torch.zeros(32, device="cuda")
    add_one(x)
    add_one(x)
    add_one(from_dlpack(x))
    cute.compile(add_one, x)(x)
    assert (x == 4).all()


def test_compiled_calls_read_tensors_below_the_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    function_mode = importlib.import_module("triptych.compat.torch_on_cpu.function_mode")

    x = torch.zeros(32, device="cuda")
    compiled = cute.compile(add_one, x)
    compiled(x)
    seen: list[object] = []
    monkeypatch.setattr(function_mode, "_run", lambda function, args, kwargs: seen.append(function))
    compiled(x)
    add_one(x)
    assert seen == []


def test_graphs_are_recorded_calls() -> None:
    x = torch.zeros(32, device="cuda")
    compiled, graph = cute.compile(add_one, x), torch.cuda.CUDAGraph()
    compiled(x)
    add_one(x)
    with torch.cuda.graph(graph):
        assert torch.cuda.is_current_stream_capturing()
        assert torch.cuda.current_stream() != torch.cuda.default_stream()
        compiled(x)
        y = x * 2
        add_one(x)
        x.add_(1)
        cute.compile(add_one, x)(x)
    assert not torch.cuda.is_current_stream_capturing()
    assert (x == 2).all()
    graph.replay()
    assert (x == 6).all()
    assert (y == 6).all()
    graph.replay()
    assert (x == 10).all()
    assert (y == 14).all()
    compiled(x)
    add_one(x)
    assert (x == 12).all()


def test_a_graph_has_no_calls_that_return_something() -> None:
    assert doubled(4) == 8
    with pytest.raises(CudaCallError, match="returns"), torch.cuda.graph(torch.cuda.CUDAGraph()):
        doubled(4)
    assert doubled(5) == 10
    assert math.isclose(torch.ones(2).sum(), 2)


def test_seeds_are_for_both_devices() -> None:
    drawn = []
    for seed in (torch.manual_seed, torch.cuda.manual_seed, torch.cuda.manual_seed_all):
        seed(7)
        drawn.append((torch.rand(2, device="cuda").tolist(), torch.rand(2).tolist()))
    assert drawn[0] == drawn[1] == drawn[2]
    torch.cuda.seed()


def test_memory_that_a_program_still_writes_to_stays() -> None:
    """Addresses handed to a kernel as numbers, whose tensors are gone: on a GPU the allocator keeps the memory."""
    triptych_torch = importlib.import_module("triptych.torch")
    kept = importlib.import_module("triptych.compat.torch_on_cpu.placement").KEPT
    address = triptych_torch.cute_tensor_like(torch.zeros(4, 4), tt.Float16, True)[1].data_ptr()
    assert address in [tensor.data_ptr() for tensor in kept._tensors]
