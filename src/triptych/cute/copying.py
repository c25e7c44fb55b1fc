"""Meta-stage, copies without an instruction of their own: one tensor's elements into another of the same shape."""

from __future__ import annotations

from typing import Any

from triptych.cute.current_trace import tracing
from triptych.cute.element_storage import storage_of
from triptych.cute.errors import TensorShapeError
from triptych.cute.integers import numbers
from triptych.cute.tensors import Tensor
from triptych.hooks import ignore_values, no_values
from triptych.layout import size, text
from triptych.metastage.binding_time import Range
from triptych.metastage.scalars import Int8, Uint8
from triptych.metastage.tracing import place

MOST_UNROLLED = 64
"""Elements that are copied one by one in straight code; more are copied in a loop."""


def autovec_copy(src: Tensor, dst: Tensor) -> None:
    """Copy with the widest accesses that layouts and alignments allow on each side."""
    _require_same_shape(src, dst)
    if src.element_type is dst.element_type:
        src, dst = _as_bits(src), _as_bits(dst)
    dst.store(src.load())


def basic_copy(src: Tensor, dst: Tensor) -> None:
    """Copy element by element, whatever the layouts."""
    _require_same_shape(src, dst)
    count = size(src.layout)

    def copy(index: Any) -> None:
        dst[index] = src[index]

    if isinstance(count, int) and count <= MOST_UNROLLED:
        for index in range(count):
            copy(index)
        return
    tracing().hooks.for_(Range(numbers(count)), copy, (), (), no_values, ignore_values)


def _as_bits(tensor: Tensor) -> Tensor:
    """Elements of one byte that are not integers are copied as bytes: their value does not matter."""
    storage = storage_of(tensor.pointer.dtype)
    if storage.unit != "i8" or storage.is_packed or storage.dtype in (Int8, Uint8):
        return tensor
    return Tensor(tensor.pointer.recast(Uint8, None), tensor.layout)


def _require_same_shape(src: Tensor, dst: Tensor) -> None:
    sizes = size(src.layout), size(dst.layout)
    if all(isinstance(count, int) for count in sizes) and sizes[0] != sizes[1]:
        raise TensorShapeError(
            "a copy between tensors of different sizes",
            span=place(),
            found=f"the shape {text(src.layout.shape)} into {text(dst.layout.shape)}",
            expected="tensors of the same shape",
        )
