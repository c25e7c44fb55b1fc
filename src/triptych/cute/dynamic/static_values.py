"""Static values: objects without run-time numbers cross branches, loops and launches unchanged; shapes of ints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self, cast

from triptych.cute.tracing.errors import StaticTensorError
from triptych.layout import Layout, Shape, product
from triptych.layout.tuples import leaves
from triptych.metastage.trace.trace import place


class StaticExpression:
    """Known while tracing as a whole: crosses as the Python object that it is."""

    __slots__ = ()

    def __extract_mlir_values__(self) -> list[Any]:
        return []

    def __new_from_mlir_values__(self, values: Sequence[Any]) -> Self:
        return self

    def __static_part__(self) -> Self:
        return self


def require_static(shape: object) -> Shape:
    """The shape of a value, which has no run-time extents."""
    if all(type(extent) is int for extent in leaves(shape)):
        return cast(Shape, shape)
    raise StaticTensorError(
        "the shape of a tensor value is known while tracing",
        span=place(),
        found=f"shape {shape}",
        expected="a shape of Python ints",
        instead="a `Constexpr` argument, or a tensor in memory, which may have run-time extents",
    )


def element_count(shape: Shape) -> int:
    """The number of elements of a static shape."""
    return cast(int, product(shape))


def positions_of(layout: Layout, offset: int = 0) -> list[int]:
    """The index of every element of a static layout, in colexicographic order of its coordinates."""
    return [offset + cast(int, layout(i)) for i in range(element_count(layout.shape))]
