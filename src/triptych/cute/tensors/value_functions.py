"""Functions on small tensors: full and like another tensor, where, any, all."""

from __future__ import annotations

from typing import Any, Protocol

from triptych.cute.dynamic.static_values import element_count, require_static
from triptych.cute.memory.vectors import all_of, any_of, splat
from triptych.cute.tensors.value import Elementwise, TensorSSA, typed
from triptych.cute.tracing.device import tracing
from triptych.layout import Shape
from triptych.metastage.values.coercion import common_type, declared_number
from triptych.metastage.values.promotion import TYPES
from triptych.metastage.values.scalars import Boolean, Numeric, numeric_class


class Shaped(Protocol):
    """What a tensor can be made like: a tensor value or a tensor in memory."""

    @property
    def shape(self) -> Any: ...
    @property
    def element_type(self) -> type[Numeric]: ...


def full(shape: Shape, fill_value: object, dtype: type[Any]) -> TensorSSA:
    """A tensor that has one number everywhere; an `int` is taken as `dtype(number)` takes it."""
    element = numeric_class(dtype)
    return _filled(shape, element(fill_value) if type(fill_value) is int else fill_value, element)


def _filled(shape: Shape, fill_value: object, element: type[Numeric]) -> TensorSSA:
    trace = tracing()
    number = declared_number(fill_value, element, f"a tensor of {element.__name__}").ir_value()
    return TensorSSA(splat(trace, number, element_count(require_static(shape)), element.info.mlir), shape, element)


def full_like(a: Shaped, fill_value: object, dtype: type[Any] | None = None) -> TensorSSA:
    """A tensor of the same shape, and of the same type unless another is named."""
    return full(a.shape, fill_value, dtype) if dtype is not None else _filled(a.shape, fill_value, a.element_type)


def zeros_like(a: Shaped, dtype: type[Any] | None = None) -> TensorSSA:
    """A tensor of the same shape that has 0 everywhere."""
    return full_like(a, 0, dtype)


def ones_like(a: Shaped, dtype: type[Any] | None = None) -> TensorSSA:
    """A tensor of the same shape that has 1 everywhere."""
    return full_like(a, 1, dtype)


def empty_like(a: Shaped, dtype: type[Any] | None = None) -> TensorSSA:
    """A tensor whose elements nobody should read; they are zeros, so that a mistake repeats."""
    return full_like(a, 0, dtype)


_BOOLEAN = TYPES["Boolean"]


def where(cond: object, x: object, y: object) -> Any:
    """`x` where the condition is true and `y` elsewhere; all three meet in one shape, `x` and `y` in one type."""
    each, info = Elementwise(cond, x, y), common_type(typed(x), typed(y))
    values = each.lower(cond, _BOOLEAN), each.lower(x, info), each.lower(y, info)
    return each.wrap(each.emitter.value("arith.select", values, info.mlir), info)


def any_(x: TensorSSA) -> Boolean:
    """Whether any element is true."""
    trace = tracing()
    return Boolean.of(any_of(trace, x.to(Boolean).ir_value()), trace.region)


def all_(x: TensorSSA) -> Boolean:
    """Whether every element is true."""
    trace = tracing()
    return Boolean.of(all_of(trace, x.to(Boolean).ir_value()), trace.region)
