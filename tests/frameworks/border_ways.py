"""Ways into a kernel that multiplies two tensors, and the programs that compute with each of them.

A program is given one of our ways or PyTorch's own product, and gives what can be compared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import triptych as tt
from triptych import cute

torch: Any = pytest.importorskip("torch")
ours: Any = pytest.importorskip("triptych.torch")
THREADS = 32


# ways into a kernel ---------------------------------------------------------------------------------------------------
@tt.kernel
def mul_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    row, first = cute.arch.block_idx()[0], cute.arch.thread_idx()[0]
    for j in range(first, a.shape[1], THREADS):
        c[row, j] = a[row, j] * b[row, j]


@tt.jit
def mul(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    mul_kernel(a, b, c).launch(grid=a.shape[0], block=THREADS)


@tt.kernel
def mul_backward_kernel(a: cute.Tensor, b: cute.Tensor, g: cute.Tensor, x: cute.Tensor, y: cute.Tensor) -> None:
    row, first = cute.arch.block_idx()[0], cute.arch.thread_idx()[0]
    for j in range(first, a.shape[1], THREADS):
        x[row, j] = g[row, j] * b[row, j]
        y[row, j] = g[row, j] * a[row, j]


@tt.jit
def mul_backward(a: cute.Tensor, b: cute.Tensor, grad_c: cute.Tensor, grad_a: cute.Tensor, grad_b: cute.Tensor) -> None:
    mul_backward_kernel(a, b, grad_c, grad_a, grad_b).launch(grid=a.shape[0], block=THREADS)


OUT = ours.op(mul, "triptych_border::mul", out={"c": "a"})
WRITES = ours.op(mul, "triptych_border::mul_out", mutates=("c",))
BACKWARD = ours.op(mul, "triptych_border::mul_d", out={"c": "a"}, backward=mul_backward)
SHAPE = (5, 7)
COMPILED = tt.compile(mul, *(torch.empty(SHAPE) for _ in range(3)))
Way = Callable[..., Any]
"""A product of two tensors; `into` is written where the way writes to what it is given."""


def writing(call: Callable[[Any, Any, Any], Any]) -> Way:
    def way(a: Any, b: Any, into: Any = None) -> Any:
        c = torch.empty_like(a) if into is None else into
        call(a, b, c)
        return c

    return way


def making(call: Callable[[Any, Any], Any]) -> Way:
    def way(a: Any, b: Any, into: Any = None) -> Any:
        made = call(a, b)
        return made if into is None else into.copy_(made)

    return way


WAYS: dict[str, Way] = {
    "direct": writing(mul),
    "compiled": writing(COMPILED),
    "out": making(OUT),
    "writes": writing(WRITES),
    "backward": making(BACKWARD),
}
REFERENCE = making(torch.mul)


# programs -------------------------------------------------------------------------------------------------------------
PROGRAMS: dict[str, Callable[[Way], Any]] = {}
"""Each computes with a way, and gives what is compared with the same by PyTorch's own product."""


def program(name: str) -> Callable[[Callable[[Way], Any]], Callable[[Way], Any]]:
    def keep(function: Callable[[Way], Any]) -> Callable[[Way], Any]:
        PROGRAMS[name] = function
        return function

    return keep


def pair(*shape: int, **options: Any) -> tuple[Any, Any]:
    a, b = torch.randn(shape or SHAPE), torch.randn(shape or SHAPE)
    return a.requires_grad_(bool(options)), b.requires_grad_(bool(options))


@program("plain")
def _plain(way: Way) -> Any:
    return way(*pair())
