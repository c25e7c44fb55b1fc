"""Element conversion of tensors from outside by a kernel, and element types as PyTorch has them.

Other libraries do not know all element types. PyTorch is imported by the first call.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from triptych.cute.arch.indices import block_idx, thread_idx
from triptych.cute.runtime.dlpack import RuntimeTensor, from_dlpack
from triptych.cute.tensors.tensor import Tensor
from triptych.cute.tensors.views import local_tile
from triptych.cute.tracing.device import tracing
from triptych.driver.jitting import jit, kernel
from triptych.layout import leading_dim
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.values.binding_time import Constexpr
from triptych.metastage.values.scalars import Float8E4M3FN, Float8E5M2, Int32, Numeric, Uint32, numeric_class
from triptych.support.forking import import_late

if TYPE_CHECKING:
    import torch

_THREADS = 128


@jit
def convert(src: Tensor, dst: Tensor) -> None:
    """Write the elements of one tensor into another of the same shape, as elements of its type."""
    packed = src if src.element_type.width < dst.element_type.width else dst
    together = 8 // math.gcd(packed.element_type.width, 8)
    """So many elements end where a byte ends: one thread takes them, since a byte has one writer."""
    leading = leading_dim(packed.layout.shape, packed.layout.stride) if together > 1 else 0
    mode = leading if isinstance(leading, int) else 0
    threads = 1
    for extent in _counts(dst, mode, together):
        threads = threads * extent
    _convert(src, dst, mode, together).launch(grid=-(-threads // _THREADS), block=_THREADS)


@kernel
def _convert(src: Tensor, dst: Tensor, mode: Constexpr[int], together: Constexpr[int]) -> None:
    rest: Any = (block_idx()[0] * _THREADS + thread_idx()[0]).to(Uint32)
    places = []
    for count in _counts(dst, mode, together):
        extent = Uint32(count)
        whole = rest // extent  # of numbers without a sign: one instruction, and a check
        places.append((rest - whole * extent).to(Int32))
        rest = whole
    tiler = tuple(together if which == mode else 1 for which in range(len(places)))
    tracing().hooks.if_(rest == 0, partial(_assign, dst, src, tiler, tuple(places)), _nothing)


# Any: extents are ints or numbers of the program.
def _counts(tensor: Tensor, mode: int, together: int) -> list[Any]:
    """How many threads each mode takes."""
    return [-(-extent // together) if i == mode else extent for i, extent in enumerate(tensor.shape)]


def _assign(dst: Tensor, src: Tensor, tiler: tuple[int, ...], place: tuple[Any, ...]) -> None:
    target, source = local_tile(dst, tiler, place), local_tile(src, tiler, place)
    target.store(source.load().to(dst.element_type))


def _nothing() -> None:
    """The other branch."""


FP8 = (Float8E4M3FN, Float8E5M2)
"""The floats of eight bits that matrix instructions multiply."""

_SPELLED = {
    "Boolean": "bool",
    "TFloat32": "float32",
    "Float8E5M2": "float8_e5m2",
    "Float8E4M3FN": "float8_e4m3fn",
    "Float8E4M3FNUZ": "float8_e4m3fnuz",
    "Float8E5M2FNUZ": "float8_e5m2fnuz",
    "Float8E8M0FNU": "float8_e8m0fnu",
    "Float4E2M1FN": "float4_e2m1fn_x2",
}
"""How PyTorch calls types, where it is not the name in lower case. It packs two Float4E2M1FN into one element."""


def is_fp8_dtype(dtype: type[Numeric]) -> bool:
    """Whether elements of this type are operands of eight bits."""
    return dtype in FP8


def torch_dtype(ty: type[Numeric]) -> torch.dtype:
    """The type of PyTorch's tensors for elements of a numeric class; TFloat32 is stored as float32."""
    torch = import_late("torch")
    name = numeric_class(ty).__name__
    found = getattr(torch, _SPELLED.get(name, name.lower()), None)
    if not isinstance(found, torch.dtype):
        raise OperandTypeError(f"PyTorch has no type for {name}", found=name, expected="a type that PyTorch has")
    return found


def create_cute_tensor_for_fp8(
    storage_tensor: torch.Tensor,
    dtype: type[Numeric],
    leading_dim: int,
    source_f32_tensor: torch.Tensor | None = None,
) -> RuntimeTensor:
    """The memory of a tensor as elements of `dtype`, aligned to 16 bytes, filled with the rounded numbers of another.

    PyTorch fills and prints floats of eight bits through other types, so programs keep them as bytes.
    """
    elements = storage_tensor.view(torch_dtype(dtype)) if is_fp8_dtype(dtype) else storage_tensor
    if source_f32_tensor is not None and is_fp8_dtype(dtype):
        elements.copy_(source_f32_tensor.to(elements.dtype))
    return from_dlpack(elements, assumed_align=16).mark_layout_dynamic(leading_dim)
