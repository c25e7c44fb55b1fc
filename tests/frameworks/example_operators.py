"""The kernels of `examples/kernels` as operators: how each is called, what it makes, and what PyTorch computes instead.

Left out: `hello_world`, which has no tensors; `hopper_gemm` and `blackwell_gemm`, which are compiled for GPUs only.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import triptych as tt
from triptych import cute

torch: Any = pytest.importorskip("torch")
FOLDER = Path(__file__).resolve().parents[2] / "examples" / "kernels"
GPU_ONLY = {"hopper_gemm", "blackwell_gemm"}


@cache
def example(name: str) -> Any:
    """The module of an example, which runs nothing when it is imported."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses ask for it
    spec.loader.exec_module(module)
    return module


class Example(NamedTuple):
    """An operator: its function, how its results are made, arguments of a size, and PyTorch's own computation."""

    function: Callable[..., Any]
    out: dict[str, Any]
    arguments: Callable[[int], tuple[Any, ...]]
    reference: Callable[..., Any]
    tolerance: float = 1e-4


# functions whose parameters have words in a schema, around those that have others ------------------------------------
@tt.jit
def transposed(a: cute.Tensor, b: cute.Tensor) -> None:
    example("transpose").transpose(a, b, example("transpose").SWIZZLED)


@tt.jit
def multiplied(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor) -> None:
    example("sgemm").sgemm(a, b, c, example("sgemm").USUAL)


@tt.jit
def counted(data: cute.Tensor, bins: cute.Tensor, in_blocks: tt.Constexpr[bool] = True) -> None:
    module = example("histogram")
    module.histogram(data, bins, module.count_in_blocks if in_blocks else module.count_globally)


@tt.jit
def largest(x: cute.Tensor, out: cute.Tensor) -> None:
    example("warp_reduction").reduce_blocks(x, out, cute.arch.fmax, float("-inf"))


@tt.jit
def gelu(x: cute.Tensor, out: cute.Tensor) -> None:
    example("elementwise_apply").apply(example("elementwise_apply").gelu, (x,), out)


@tt.jit
def gate(x: cute.Tensor, by: cute.Tensor, out: cute.Tensor) -> None:
    example("elementwise_apply").apply(example("elementwise_apply").sigmoid_gate, (x, by), out)


@tt.jit
def positive_axpy(alpha: tt.Float32, x: cute.Tensor, y: cute.Tensor, out: cute.Tensor) -> None:
    example("epilogues").axpy(alpha, x, y, out, example("epilogues").ReLU())


def aligned(matrix: cute.Tensor, *, wide: int) -> cute.Tensor:
    """Rows of whole vectors of 16 bytes."""
    shape = (*matrix.shape[:-1], wide)
    order = tuple(reversed(range(len(shape))))
    return cute.make_tensor(matrix.iterator.align(16), cute.make_ordered_layout(shape, order=order))


@tt.jit
def linear(x: cute.Tensor, w: cute.Tensor, y: cute.Tensor) -> None:
    example("tensor_core_gemm").gemm(aligned(x, wide=K), aligned(w, wide=K), y)


@tt.jit
def attended(q: cute.Tensor, k: cute.Tensor, v: cute.Tensor, o: cute.Tensor, causal: tt.Constexpr[bool]) -> None:
    q, k, v, o = [aligned(each, wide=HEAD) for each in (q, k, v, o)]
    example("flash_attention").attention(q, k, v, o, causal)


K, HEAD, BINS = 32, 64, 256


# the table ------------------------------------------------------------------------------------------------------------
def vectors(count: int) -> Callable[[int], tuple[Any, ...]]:
    return lambda n: tuple(torch.randn(17 * n + 3) for _ in range(count))


def matrix(n: int) -> Any:
    return torch.randn(n, 2 * n + 5)


def normalized(n: int) -> tuple[Any, ...]:
    x = matrix(n)
    return x, torch.randn(x.shape[1]), torch.randn(x.shape[1]), 1e-5


def factors(n: int) -> tuple[Any, ...]:
    return torch.randn(n, n + 7), torch.randn(n + 7, 2 * n + 3)


def product_of(a: Any, b: Any) -> Any:
    return a.new_empty(a.shape[0], b.shape[1])


def heads(n: int) -> tuple[Any, ...]:
    q, k, v = (torch.randn(2, length, 3, HEAD).half() for length in (n, n + 9, n + 9))
    return q, k, v, False


def attention_of(q: Any, k: Any, v: Any, causal: bool) -> Any:
    q, k, v = (x.float().transpose(1, 2) for x in (q, k, v))
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2).half()


def norm_of(x: Any, weight: Any, bias: Any, eps: float) -> Any:
    return torch.nn.functional.layer_norm(x, x.shape[1:], weight, bias, eps)


def rms_norm_of(x: Any, weight: Any, eps: float) -> Any:
    return torch.nn.functional.rms_norm(x, x.shape[1:], weight, eps)


def sums_of(x: Any) -> tuple[Any, Any]:
    return torch.stack([part.sum() for part in x.split(4096)]), x.sum().reshape(1)


EXAMPLES: dict[str, Example] = {
    "vector_add, by elements": Example(example("vector_add").by_elements, {"c": "a"}, vectors(2), torch.add),
    "vector_add, by vectors": Example(example("vector_add").by_vectors, {"c": "a"}, vectors(2), torch.add),
    "vector_add, by threads and values": Example(
        example("vector_add").by_threads_and_values,
        {"c": "a"},
        lambda n: (torch.randn(n, 3 * n), torch.randn(n, 3 * n)),
        torch.add,
    ),
    "relu": Example(example("relu").relu, {"y": "x"}, vectors(1), torch.relu),
    "elementwise_apply, gelu": Example(gelu, {"out": "x"}, vectors(1), torch.nn.functional.gelu),
    "elementwise_apply, gate": Example(gate, {"out": "x"}, vectors(2), lambda x, by: x * torch.sigmoid(by)),
    "epilogues": Example(
        positive_axpy,
        {"out": "x"},
        lambda n: (0.5, *vectors(2)(n)),
        lambda alpha, x, y: torch.relu(alpha * x + y),
    ),
    "softmax": Example(example("softmax").softmax, {"y": "x"}, lambda n: (matrix(n),), lambda x: x.softmax(1)),
    "layer_norm": Example(example("layer_norm").layer_norm, {"y": "x"}, normalized, norm_of),
    "rms_norm": Example(example("rms_norm").rms_norm, {"y": "x"}, lambda n: (*normalized(n)[:2], 1e-6), rms_norm_of),
    "block_reduction": Example(
        example("block_reduction").sum_kernel_twice,
        {"sums": lambda x: x.new_empty((x.shape[0] + 4095) // 4096), "total": lambda x: x.new_empty(1)},
        lambda n: (torch.randn(900 * n + 1),),
        sums_of,
        1e-3,
    ),
    "warp_reduction": Example(
        largest,
        {"out": lambda x: x.new_empty((x.shape[0] + 4095) // 4096)},
        lambda n: (torch.randn(900 * n + 1),),
        lambda x: torch.stack([part.max() for part in x.split(4096)]),
    ),
    "histogram": Example(
        counted,
        {"bins": lambda data: data.new_zeros(BINS, dtype=torch.int32)},
        lambda n: (torch.randint(0, 256, (1000 * n,), dtype=torch.uint8),),
        lambda data: torch.bincount(data.long(), minlength=BINS).int(),
    ),
    "transpose": Example(
        transposed,
        {"b": lambda a: a.new_empty(a.shape[1], a.shape[0])},
        lambda n: (matrix(n),),
        lambda a: a.t().contiguous(),
    ),
    "gemm, tiled": Example(example("gemm").tiled, {"c": product_of}, factors, torch.matmul),
    "gemm, register-tiled": Example(example("gemm").register_tiled, {"c": product_of}, factors, torch.matmul),
    "sgemm": Example(multiplied, {"c": product_of}, factors, torch.matmul),
    "tensor_core_gemm": Example(
        linear,
        {"y": lambda x, w: x.new_empty(x.shape[0], w.shape[0], dtype=torch.float32)},
        lambda n: (torch.randn(n, K).half(), torch.randn(2 * n, K).half()),
        lambda x, w: x.float() @ w.float().t(),
    ),
    "flash_attention": Example(attended, {"o": "q"}, heads, attention_of, 1e-2),
}
