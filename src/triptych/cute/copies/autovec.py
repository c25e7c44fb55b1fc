"""Meta-stage, copies by loads and stores: as wide as can be proven right, or element by element.

Input: tensors of the same size. Output: accesses of memory. Every other copy has this meaning too, where it has one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from triptych.cute.dynamic.integers import numbers
from triptych.cute.memory.cache_hints import Hints, hinted
from triptych.cute.memory.element_storage import storage_of
from triptych.cute.memory.orders import CacheEvictionPriority
from triptych.cute.tensors.tensor import Tensor, static_size
from triptych.cute.tracing.current_trace import tracing
from triptych.cute.tracing.cute_errors import TensorShapeError
from triptych.hooks import ignore_values, no_values
from triptych.layout import size, text
from triptych.metastage.trace.trace import place
from triptych.metastage.values.binding_time import Range
from triptych.metastage.values.scalars import Int8, Uint8

MOST_UNROLLED = 64
"""Elements that are copied one by one in straight code; more are copied in a loop."""


def autovec_copy(src: Tensor, dst: Tensor, *, l1c_evict_priority: CacheEvictionPriority | None = None) -> None:
    """Copy with the widest accesses that layouts and alignments allow on each side."""
    if l1c_evict_priority is not None:
        with hinted(Hints(l1c_evict_priority)):
            return autovec_copy(src, dst)
    require_same_size(src, dst)
    if src.element_type is dst.element_type:
        src, dst = _as_bits(src), _as_bits(dst)
    values = src.load()
    return dst.store(values if values.shape == dst.layout.shape else values.reshape(dst.layout.shape))


def basic_copy(src: Tensor, dst: Tensor) -> None:
    """Copy element by element, whatever the layouts."""
    require_same_size(src, dst)
    count = size(src.layout)

    def copy(index: object) -> None:
        dst[index] = src[index]

    if isinstance(count, int) and count <= MOST_UNROLLED:
        for index in range(count):
            copy(index)
        return
    tracing().hooks.for_(Range(numbers(count)), copy, (), (), no_values, ignore_values)


def basic_copy_if(pred: Tensor, src: Tensor, dst: Tensor) -> None:
    """Copy the elements whose predicate is true, one by one; the others stay what they are."""
    require_same_size(src, dst)
    require_same_size(pred, dst)

    def copy(index: int) -> None:
        dst[index] = src[index]

    for index in range(static_size(src.layout, src)):
        only_if(pred[index], partial(copy, index))


def only_if(allowed: object, action: Callable[[], None]) -> None:
    """What a thread does where a number is true."""
    tracing().hooks.if_(allowed, action, _nothing)


def require_same_size(src: Tensor, dst: Tensor) -> None:
    sizes = size(src.layout), size(dst.layout)
    if all(isinstance(count, int) for count in sizes) and sizes[0] != sizes[1]:
        raise TensorShapeError(
            "a copy between tensors of different sizes",
            span=place(),
            found=f"the shape {text(src.layout.shape)} into {text(dst.layout.shape)}",
            expected="tensors of the same shape",
            instead="a tile of the larger one (`cute.local_tile`), or a predicate for what lies outside",
        )


def _nothing() -> None:
    """The other side of a guard."""


def _as_bits(tensor: Tensor) -> Tensor:
    """Elements of one byte that are not integers are copied as bytes: their value does not matter."""
    storage = storage_of(tensor.pointer.dtype)
    if storage.unit != "i8" or storage.is_packed or storage.dtype in (Int8, Uint8):
        return tensor
    return Tensor(tensor.pointer.recast(Uint8, None), tensor.layout)
