"""What programs write where the algebra takes integers: its own kinds, and numbers that are known at run time.

The functions of `cute` take these and give the algebra its own kinds (`ints`); what they answer is an int where it is
known while tracing and a number otherwise, which no type says without a lie, so it is `Any` to a type checker.
"""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

from triptych.cute.tensors.tensor import Tensor
from triptych.layout import AnyLayout, ComposedLayout, DynamicInt, Layout
from triptych.layout.basis import Step
from triptych.metastage.scalars import Numeric

Int: TypeAlias = int | DynamicInt | Numeric
IntTuple: TypeAlias = "Int | tuple[IntTuple, ...]"
Shape: TypeAlias = IntTuple
Stride: TypeAlias = "Step | Numeric | tuple[Stride, ...]"
Coord: TypeAlias = "Int | tuple[Coord, ...] | None"
Mode: TypeAlias = "int | list[int] | tuple[int, ...] | None"

Number: TypeAlias = Any
"""An int, or a dynamic value."""
Numbers: TypeAlias = Any
"""A number, or a nested tuple of them."""

V = TypeVar("V", bound=Tensor | Layout | ComposedLayout)
"""What has views: a view of a tensor is a tensor, one of a layout a layout."""
View: TypeAlias = Tensor | AnyLayout
