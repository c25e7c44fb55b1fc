"""Types of the language under one name, for annotations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional, Protocol, Type, Union, runtime_checkable  # noqa: UP035 - programs import them from here

from triptych.cute.memory.address_spaces import AddressSpace
from triptych.cute.memory.pointers import Pointer
from triptych.cute.tensors.program_integers import Coord, Int, IntTuple, Shape, Stride, Tile
from triptych.cute.tensors.tensor import Tensor
from triptych.layout import ComposedLayout, Layout, SymInt
from triptych.metastage.values.binding_time import Constexpr
from triptych.metastage.values.mlir_types import NumericType as NumericMeta
from triptych.metastage.values.scalars import (
    BFloat16,
    Boolean,
    Float,
    Float4E2M1FN,
    Float6E2M3FN,
    Float6E3M2FN,
    Float8E4M3,
    Float8E4M3B11FNUZ,
    Float8E4M3FN,
    Float8E4M3FNUZ,
    Float8E5M2,
    Float8E5M2FNUZ,
    Float8E8M0FNU,
    Float16,
    Float32,
    Float64,
    Int4,
    Int8,
    Int16,
    Int32,
    Int64,
    Int128,
    Integer,
    Numeric,
    TFloat32,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Uint128,
)

__all__ = [
    "AddressSpace",
    "BFloat16",
    "Boolean",
    "ComposedLayout",
    "Constexpr",
    "Coord",
    "Float",
    "Float4E2M1FN",
    "Float6E2M3FN",
    "Float6E3M2FN",
    "Float8E4M3",
    "Float8E4M3B11FNUZ",
    "Float8E4M3FN",
    "Float8E4M3FNUZ",
    "Float8E5M2",
    "Float8E5M2FNUZ",
    "Float8E8M0FNU",
    "Float16",
    "Float32",
    "Float64",
    "Int",
    "Int4",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Int128",
    "IntTuple",
    "Integer",
    "JitArgument",
    "Layout",
    "Numeric",
    "NumericMeta",
    "Optional",
    "Pointer",
    "Shape",
    "Stride",
    "SymInt",
    "TFloat32",
    "Tensor",
    "Tile",
    "Type",
    "Uint8",
    "Uint16",
    "Uint32",
    "Uint64",
    "Uint128",
    "Union",
]


@runtime_checkable
class JitArgument(Protocol):
    """What a program's own kind of argument has: its addresses, the types behind them, and how it is made of values."""

    def __c_pointers__(self) -> Sequence[Any]: ...
    def __get_mlir_types__(self) -> Sequence[Any]: ...
    def __new_from_mlir_values__(self, values: Sequence[Any]) -> Any: ...


def __dir__() -> list[str]:
    return __all__
