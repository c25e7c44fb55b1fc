"""Meta-stage, making small tensors: of one number everywhere, by shape or like another tensor."""

from __future__ import annotations

from typing import Any, Protocol

from triptych.cute.dynamic.static_shapes import element_count, require_static
from triptych.cute.memory.vectors import splat
from triptych.cute.tensors.value import TensorSSA
from triptych.cute.tracing.current_trace import tracing
from triptych.layout import Shape
from triptych.metastage.values.declared_types import declared_number
from triptych.metastage.values.scalars import Numeric, numeric_class


class Shaped(Protocol):
    """What a tensor can be made like: a tensor value or a tensor in memory."""

    @property
    def shape(self) -> Any: ...
    @property
    def element_type(self) -> type[Numeric]: ...


def full(shape: Shape, fill_value: object, dtype: type[Any]) -> TensorSSA:
    """A tensor that has one number everywhere."""
    trace, element = tracing(), numeric_class(dtype)
    number = declared_number(fill_value, element, f"a tensor of {element.__name__}").ir_value()
    return TensorSSA(splat(trace, number, element_count(require_static(shape)), element.info.mlir), shape, element)


def full_like(a: Shaped, fill_value: object, dtype: type[Any] | None = None) -> TensorSSA:
    """A tensor of the same shape, and of the same type unless another is named."""
    return full(a.shape, fill_value, dtype or a.element_type)


def zeros_like(a: Shaped, dtype: type[Any] | None = None) -> TensorSSA:
    """A tensor of the same shape that has 0 everywhere."""
    return full_like(a, 0, dtype)


def ones_like(a: Shaped, dtype: type[Any] | None = None) -> TensorSSA:
    """A tensor of the same shape that has 1 everywhere."""
    return full_like(a, 1, dtype)


def empty_like(a: Shaped, dtype: type[Any] | None = None) -> TensorSSA:
    """A tensor whose elements nobody should read; they are zeros, so that a mistake repeats."""
    return full_like(a, 0, dtype)
