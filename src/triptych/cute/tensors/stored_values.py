"""Meta-stage, whole values on their way into a tensor: as vectors of its element type, or refused."""

from __future__ import annotations

from typing import Any, Protocol

from triptych.cute.memory.element_values import element_value
from triptych.cute.memory.pointers import Pointer
from triptych.cute.memory.vectors import splat
from triptych.cute.tensors.value import TensorSSA
from triptych.cute.tracing.current_trace import tracing
from triptych.cute.tracing.cute_errors import ElementTypeError, TensorShapeError
from triptych.layout import ComposedLayout, Layout, product, text
from triptych.layout.tuples import IntTuple, leaves
from triptych.metastage.trace.trace import place
from triptych.metastage.values.declared_types import require_kept
from triptych.support.articles import with_article


class Stored(Protocol):
    """What a store asks of the tensor that it goes into."""

    @property
    def pointer(self) -> Pointer: ...

    @property
    def layout(self) -> Layout | ComposedLayout: ...


def splat_value(value: object, count: int, tensor: Stored) -> Any:
    """A number as a vector of the element type that has it everywhere."""
    dtype = tensor.pointer.dtype
    return splat(tracing(), element_value(value, dtype, tensor), count, dtype.info.mlir)


def vector_value(data: object, tensor: Stored) -> Any:
    """A tensor value as a vector of the element type."""
    dtype = tensor.pointer.dtype
    if not isinstance(data, TensorSSA):
        raise ElementTypeError(
            f"{with_article(type(data).__name__)} cannot be stored",
            span=place(),
            found=f"{with_article(type(data).__name__)} for {tensor}",
            expected="a TensorSSA, as `load()` and arithmetic make it",
            instead="tensor.fill(x) for one number, tensor[coord] = x for one element",
        )
    if not _same_elements(data.shape, tensor.layout.shape):
        raise TensorShapeError(
            "a value of another shape is stored",
            span=place(),
            found=f"the shape {text(data.shape)} for {tensor}",
            expected=f"the shape {text(tensor.layout.shape)}",
            instead="a reshape of the value, or the matching part of the tensor",
        )
    require_kept(data.dtype, dtype, tensor, ElementTypeError)
    return data.to(dtype).ir_value() if data.dtype is not dtype else data.ir_value()


def _same_elements(value: IntTuple, tensor: IntTuple) -> bool:
    """Whether two shapes name the same elements in the same order: one is flat, or brackets and ones differ."""
    left, right = ([extent for extent in leaves(shape) if extent != 1] for shape in (value, tensor))
    return left == right or (min(len(left), len(right)) < 2 and product(value) == product(tensor))
