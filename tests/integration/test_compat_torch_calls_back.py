"""Code of the program that torch calls back sees the GPU: backward passes, hooks, operators, threads."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from triptych.compat import torch_on_cpu
from triptych.compat.errors import CudaCallError

torch: Any = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    SEEN.clear()
    undo = torch_on_cpu.install()
    yield
    undo()


SEEN: list[tuple[str, list[bool]]] = []
"""What code that torch called has seen: where, and which tensors were on the GPU."""


def saw(where: str, *tensors: Any) -> None:
    for tensor in tensors:
        assert tensor.is_cuda == (tensor.device.type == "cuda") == torch.empty_like(tensor).is_cuda
    SEEN.append((where, [tensor.is_cuda for tensor in tensors]))


def function() -> Any:
    class Doubled(torch.autograd.Function):  # type: ignore[misc]  # torch has no types here
        @staticmethod
        def forward(ctx: Any, x: Any, table: Any) -> Any:
            y, z = x * 2, x + 1
            ctx.save_for_backward(x, y, z, table)
            return y

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            saw("backward", dy, *ctx.saved_tensors, torch.zeros(1), torch.zeros(1, device="cuda"))
            return dy * 2, None

    return Doubled.apply


@pytest.mark.parametrize("device", ["cuda", "cpu"])
@pytest.mark.parametrize("way", ["with a gradient", "of a sum", "grad", "autograd.backward", "twice"])
def test_backward_passes_see_where_tensors_are(device: str, way: str) -> None:
    """An input, a result, a tensor made between, and a table that the program has kept on the CPU."""
    x = torch.randn(4, device=device, requires_grad=True)
    y, here = function()(x, torch.zeros(2)), device == "cuda"
    match way:
        case "with a gradient":
            y.backward(torch.ones_like(y))
        case "of a sum":
            y.sum().backward()
        case "grad":
            [gradient] = torch.autograd.grad(y.sum(), x)
            assert gradient.is_cuda == here
        case "autograd.backward":
            torch.autograd.backward([y.sum()])
        case _:
            [gradient] = torch.autograd.grad(y.sum(), x, create_graph=True)
            assert gradient.is_cuda == here
    assert [("backward", [here, here, here, here, False, False, True])] == SEEN
    assert x.grad is None or x.grad.is_cuda == here
    assert not torch.zeros(2).is_cuda


def test_hooks_see_where_tensors_are() -> None:
    x = torch.ones(2, 3, device="cuda", requires_grad=True)
    x.register_hook(lambda gradient: saw("tensor", gradient))
    x.register_post_accumulate_grad_hook(lambda tensor: saw("accumulated", tensor, tensor.grad))
    layer = torch.nn.Linear(3, 3).cuda()
    layer.register_full_backward_hook(lambda module, into, out: saw("module", *into, *out))
    layer(x).sum().backward()
    assert SEEN == [("module", [True, True]), ("tensor", [True]), ("accumulated", [True, True])]


@pytest.mark.parametrize("way", ["call", "decorator", "with options", "module"])
def test_what_torch_would_compile_for_the_gpu_runs_call_by_call(way: str) -> None:
    def doubled(x: Any) -> Any:
        saw("compiled", x)
        return x * 2

    x = torch.ones(4, device="cuda")
    match way:
        case "call":
            compiled = torch.compile(doubled, fullgraph=True)
        case "decorator":
            compiled = torch.compile(doubled)
        case "with options":
            compiled = torch.compile(dynamic=True, mode="max-autotune")(doubled)
        case _:
            compiled = torch.nn.Identity()
            compiled.forward = doubled
            compiled.compile()
    y = compiled(x)
    assert y.is_cuda
    assert (y == 2).all()
    assert SEEN == [("compiled", [True])]


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoints_compute_again_where_tensors_are(reentrant: bool) -> None:
    def part(x: Any) -> Any:
        saw("forward", x)
        return x * x

    x = torch.ones(4, device="cuda", requires_grad=True)
    torch.utils.checkpoint.checkpoint(part, x, use_reentrant=reentrant).sum().backward()
    assert SEEN == [("forward", [True]), ("forward", [True])]
    assert (x.grad == 2).all()


def test_hooks_of_saved_tensors_see_where_they_are() -> None:
    """An input, and a result."""

    def pack(tensor: Any) -> Any:
        saw("pack", tensor)
        return tensor

    def unpack(tensor: Any) -> Any:
        saw("unpack", tensor)
        return tensor

    x, y = torch.ones(4, device="cuda", requires_grad=True), torch.ones(4, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        a, b = (x * x).exp(), y.exp()
    a.sum().backward()
    b.sum().backward()
    packed, unpacked = ([seen for where, seen in SEEN if where == each] for each in ("pack", "unpack"))
    assert packed == [[True], [True], [True], [False]]
    assert unpacked == packed


def test_operators_for_cuda_run() -> None:
    @torch.library.custom_op("triptych_tests::twice", mutates_args=("out",), device_types="cuda")  # type: ignore[untyped-decorator, unused-ignore]
    def twice(x: torch.Tensor, out: torch.Tensor) -> None:
        saw("operator", x, out, torch.zeros(1, device=x.device))
        out.copy_(x * 2)

    x = torch.ones(4, device="cuda")
    out = torch.empty_like(x)
    twice(x, out)
    assert (out == 2).all()
    assert SEEN == [("operator", [True, True, True])]
    with pytest.raises(NotImplementedError, match="'triptych_tests::twice' with arguments from the 'CPU' backend"):
        twice(torch.ones(4), torch.empty(4))


@pytest.mark.parametrize("devices", ["cuda", None, ("cpu", "cuda")])
def test_operators_with_a_backward_pass(devices: Any) -> None:
    name = f"triptych_tests::thrice_{devices if isinstance(devices, str) else len(devices or ())}"

    @torch.library.custom_op(name, mutates_args=(), device_types=devices)  # type: ignore[untyped-decorator, unused-ignore]
    def thrice(x: torch.Tensor) -> torch.Tensor:
        saw("operator", x)
        return x * 3

    def backward(ctx: Any, gradient: Any) -> Any:
        saw("backward", gradient, *ctx.saved_tensors)
        return gradient * 3

    thrice.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    x = torch.ones(4, device="cuda", requires_grad=True)
    y = thrice(x)
    y.sum().backward()
    assert y.is_cuda
    assert (x.grad == 3).all()
    assert SEEN == [("operator", [True]), ("backward", [True, True])]


@pytest.mark.parametrize("order", [("CPU", "CUDA"), ("CUDA", "CPU")])
def test_an_operator_for_both_devices_runs_by_placement(order: tuple[str, str]) -> None:
    library = torch.library.Library(f"triptych_tests_{order[0]}", "DEF")
    library.define("where(Tensor x) -> Tensor")
    for device in order:
        library.impl("where", partial(torch.add, len(device)), device)
    where = getattr(torch.ops, f"triptych_tests_{order[0]}").where
    assert where(torch.zeros(1)).item() == 3
    assert where(torch.zeros(1, device="cuda")).item() == 4


def test_an_operator_of_torch_itself_keeps_its_meaning() -> None:
    library = torch.library.Library("aten", "IMPL")
    with pytest.raises(CudaCallError, match="another implementation for CUDA"):
        library.impl("div.Tensor", lambda x, y: x, "CUDA")


def test_threads_see_the_gpu() -> None:
    class Worker(threading.Thread):
        def run(self) -> None:
            saw("class", torch.zeros(3, device="cuda"), torch.zeros(3))

    for thread in (Worker(), threading.Thread(target=saw, args=("target", torch.zeros(3, device="cuda")))):
        thread.start()
        thread.join()
        assert "run" not in vars(thread)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: torch.zeros(3).cuda().is_cuda).result()
    assert SEEN == [("class", [True, False]), ("target", [True])]


def squares(x: Any) -> Any:
    saw("function", x)
    return (x * x).sum()


TRANSFORMS = {
    "vmap": lambda x: torch.vmap(squares)(x),
    "vmap twice": lambda x: torch.vmap(torch.vmap(squares))(x),
    "vmap of what it closes over": lambda x: torch.vmap(lambda i: squares(x[0]))(torch.arange(3)),
    "grad": lambda x: torch.func.grad(squares)(x),
    "vmap of grad": lambda x: torch.vmap(torch.func.grad(squares))(x),
    "grad and value": lambda x: torch.func.grad_and_value(squares)(x)[1],
    "jvp": lambda x: torch.func.jvp(squares, (x,), (x,))[1],
    "vjp": lambda x: torch.func.vjp(squares, x)[1](torch.ones((), device=x.device))[0],
    "jacrev": lambda x: torch.func.jacrev(squares)(x),
    "jacfwd": lambda x: torch.func.jacfwd(squares)(x),
    "hessian": lambda x: torch.func.hessian(squares)(x),
}


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
@pytest.mark.parametrize("device", ["cuda", "cpu"])
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_transforms_of_functions_keep_tensors_where_they_are(transform: Any, device: str) -> None:
    """`torch.nn.attention.flex_attention.create_block_mask` makes its tables of blocks by one."""
    assert transform(torch.ones(2, 3, device=device)).is_cuda == (device == "cuda")
    assert SEEN
    assert all(seen == ("function", [device == "cuda"]) for seen in SEEN)


def test_files_of_the_cpus_tensors_are_as_on_any_machine() -> None:
    written, plain = io.BytesIO(), io.BytesIO()
    tensor = torch.arange(3)
    torch.save(tensor, written)
    vars(tensor).clear()
    torch.save(tensor, plain)
    assert written.getvalue() == plain.getvalue()
    assert torch.load(io.BytesIO(written.getvalue()), weights_only=True).tolist() == [0, 1, 2]
