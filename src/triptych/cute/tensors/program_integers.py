"""Integers that programs write where the algebra takes them: its own kinds, and run-time numbers.

The functions of `cute` take these and give the algebra its own kinds (`ints`); what they answer is an int where it is
known while tracing and a number otherwise, which no type says without a lie, so it is `Any` to a type checker.

As annotations of parameters, the names for tuples of integers say that Python ints in an argument are part of the
program (decision 0009).
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias, TypeVar

from triptych.cute.tensors.tensor import Tensor
from triptych.layout import AnyLayout, ComposedLayout, DynamicInt, Layout
from triptych.layout.basis import Step
from triptych.metastage.values.binding_time import STATIC_INTEGERS
from triptych.metastage.values.scalars import Numeric

Int: TypeAlias = int | DynamicInt | Numeric
IntTuple: TypeAlias = Annotated["Int | tuple[IntTuple, ...]", STATIC_INTEGERS]
Shape: TypeAlias = IntTuple
Stride: TypeAlias = Annotated["Step | Numeric | tuple[Stride, ...]", STATIC_INTEGERS]
Coord: TypeAlias = Annotated["Int | tuple[Coord, ...] | None", STATIC_INTEGERS]
Tile: TypeAlias = Annotated[Any, STATIC_INTEGERS]
"""A shape, or layouts and shapes, one for each mode."""
Mode: TypeAlias = "int | list[int] | tuple[int, ...] | None"

Number: TypeAlias = Any
"""An int, or a dynamic value."""
Numbers: TypeAlias = Any
"""A number, or a nested tuple of them."""

V = TypeVar("V", bound=Tensor | Layout | ComposedLayout)
"""What has views: a view of a tensor is a tensor, one of a layout a layout."""
View: TypeAlias = Tensor | AnyLayout
