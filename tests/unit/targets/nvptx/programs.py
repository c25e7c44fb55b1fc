"""Programs that are compiled for GPUs: every kernel example, with tensors that exist only as a kind."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import triptych as tt
from triptych import cute
from triptych.cute.runtime import FakeTensor, make_fake_tensor

FOLDER = Path(__file__).resolve().parents[4] / "examples" / "kernels"

Program = tuple[Any, tuple[Any, ...]]
"""A host function and its arguments."""


def example(name: str) -> Any:
    """A module of the examples, which import one another by bare names."""
    if str(FOLDER) not in sys.path:
        sys.path.insert(0, str(FOLDER))
    return importlib.import_module(name)


def vector(dtype: Any = tt.Float32, *, align: int = 16) -> FakeTensor:
    """Elements next to each other; how many is known at the call, and that they are a multiple of four."""
    return make_fake_tensor(dtype, (cute.sym_int(divisibility=4),), (1,), assumed_align=align)


def matrix(dtype: Any = tt.Float32, *, align: int = 16) -> FakeTensor:
    """Rows next to each other."""
    return make_fake_tensor(
        dtype,
        (cute.sym_int(), cute.sym_int(divisibility=4)),
        (cute.sym_int64(divisibility=4), 1),
        assumed_align=align,
    )


def _of(module: str, function: str, *arguments: Callable[[Any], Any]) -> Callable[[], Program]:
    """A function of an example; arguments that are other objects of the example are made from its module."""

    def made() -> Program:
        loaded = example(module)
        return getattr(loaded, function), tuple(argument(loaded) for argument in arguments)

    return made


def _vector(_: Any) -> Any:
    return vector()


def _matrix(_: Any) -> Any:
    return matrix()


def _bytes(_: Any) -> Any:
    return vector(tt.Uint8)


def _counts(_: Any) -> Any:
    return vector(tt.Int32)


def _small(_: Any) -> Any:
    return 1e-6


EXAMPLES: dict[str, Callable[[], Program]] = {
    "hello": _of("hello_world", "hello_world"),
    "vector add by elements": _of("vector_add", "by_elements", _vector, _vector, _vector),
    "vector add by vectors": _of("vector_add", "by_vectors", _vector, _vector, _vector),
    "vector add by layout": _of("vector_add", "by_threads_and_values", _matrix, _matrix, _matrix),
    "relu": _of("relu", "relu", _vector, _vector),
    "gelu": _of("elementwise_apply", "apply", lambda m: m.gelu, lambda m: (vector(),), _vector),
    "gate": _of("elementwise_apply", "apply", lambda m: m.sigmoid_gate, lambda m: (vector(), vector()), _vector),
    "axpy": _of("epilogues", "axpy", lambda m: 2.0, _vector, _vector, _vector, lambda m: m.LeakyReLU(0.25)),
    "softmax": _of("softmax", "softmax", _matrix, _matrix),
    "layer norm": _of("layer_norm", "layer_norm", _matrix, _vector, _vector, _matrix, _small),
    "rms norm": _of("rms_norm", "rms_norm", _matrix, _vector, _matrix, _small),
    "block reduction": _of("block_reduction", "sum_kernel_twice", _vector, _vector, _vector),
    "warp reduction": _of("warp_reduction", "reduce_blocks", _vector, _vector, lambda m: m.add, lambda m: 0.0),
    "histogram, global": _of("histogram", "histogram", _bytes, _counts, lambda m: m.count_globally),
    "histogram, shared": _of("histogram", "histogram", _bytes, _counts, lambda m: m.count_in_blocks),
    "transpose, padded": _of("transpose", "transpose", _matrix, _matrix, lambda m: m.PADDED),
    "transpose, swizzled": _of("transpose", "transpose", _matrix, _matrix, lambda m: m.SWIZZLED),
    "gemm, tiled": _of("gemm", "tiled", _matrix, _matrix, _matrix),
    "gemm, register-tiled": _of("gemm", "register_tiled", _matrix, _matrix, _matrix),
}


def rows(dtype: Any, height: str, width: Any) -> FakeTensor:
    """Rows next to each other without gaps; tensors whose extents have the same name have the same extents."""
    return make_fake_tensor(dtype, (cute.sym_int(symbol=height), width), (width, 1), assumed_align=16)


def _product(dtype: Any, out: Any) -> Callable[[], Program]:
    def made() -> Program:
        k, n = cute.sym_int(divisibility=128 // dtype.width, symbol="k"), cute.sym_int(symbol="n")
        return example("tensor_core_gemm").gemm, (rows(dtype, "m", k), rows(dtype, "n", k), rows(out, "m", n))

    return made


def _sgemm() -> Program:
    k, n = cute.sym_int(symbol="k"), cute.sym_int(symbol="n")
    return example("sgemm").sgemm, (rows(tt.Float32, "m", k), rows(tt.Float32, "k", n), rows(tt.Float32, "m", n))


def _attention(causal: bool) -> Callable[[], Program]:
    def tensor(length: str) -> FakeTensor:
        batch, heads = cute.sym_int(symbol="batch"), cute.sym_int(symbol="heads")
        sequence, dim = cute.sym_int(symbol=length), 128
        strides = (sequence * heads * dim, heads * dim, dim, 1)
        return make_fake_tensor(tt.Float16, (batch, sequence, heads, dim), strides, assumed_align=16)

    def made() -> Program:
        return example("flash_attention").attention, (*map(tensor, ("queries", "keys", "keys", "queries")), causal)

    return made


MATRICES: dict[str, Callable[[], Program]] = {
    "sgemm": _sgemm,
    "tensor-core gemm, f16": _product(tt.Float16, tt.Float32),
    "tensor-core gemm, bf16": _product(tt.BFloat16, tt.Float32),
    "tensor-core gemm, fp8": _product(tt.Float8E4M3FN, tt.Float32),
    "flash attention": _attention(False),
    "flash attention, causal": _attention(True),
}
"""Products of matrices, by tiles in shared memory. What of them an older GPU lacks is an error."""
