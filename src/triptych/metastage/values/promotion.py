"""Type promotion: the numeric types and how they combine, one table for every operator, join and conversion."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Literal

from triptych.support.dataclass import dataclass

Kind = Literal["bool", "int", "uint", "float"]


@dataclass(frozen=True, slots=True)
class TypeInfo:
    """A numeric type: its kind, its width in bits where it is stored and the MLIR type that holds it."""

    name: str
    kind: Kind
    width: int
    mlir: str
    promotes_to: tuple[str, ...]
    """The next wider types that hold every one of its values: the edges of the promotion lattice."""

    @property
    def is_integer(self) -> bool:
        return self.kind in ("int", "uint")

    @property
    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest value of an integer type."""
        low = -(1 << (self.width - 1)) if self.kind == "int" else 0
        return low, low + (1 << self.width) - 1

    def holds(self, value: int) -> bool:
        """Whether an integer type holds `value`."""
        low, high = self.bounds
        return low <= value <= high

    def nearest(self, value: float) -> int:
        """A float as an integer of the type: toward zero, beyond the range its end, NaN gives 0."""
        low, high = self.bounds
        if math.isnan(value):
            return 0
        return high if value > high else low if value < low else int(value)


_TABLE = (
    TypeInfo("Boolean", "bool", 1, "i1", ("Int4", "Uint8")),
    TypeInfo("Int4", "int", 4, "i4", ("Int8",)),
    TypeInfo("Int8", "int", 8, "i8", ("Int16",)),
    TypeInfo("Int16", "int", 16, "i16", ("Int32",)),
    TypeInfo("Int32", "int", 32, "i32", ("Int64",)),
    TypeInfo("Int64", "int", 64, "i64", ("Int128",)),
    TypeInfo("Int128", "int", 128, "i128", ()),
    TypeInfo("Uint8", "uint", 8, "i8", ("Uint16", "Int16")),
    TypeInfo("Uint16", "uint", 16, "i16", ("Uint32", "Int32")),
    TypeInfo("Uint32", "uint", 32, "i32", ("Uint64", "Int64")),
    TypeInfo("Uint64", "uint", 64, "i64", ("Uint128", "Int128")),
    TypeInfo("Uint128", "uint", 128, "i128", ()),
    TypeInfo("Float4E2M1FN", "float", 4, "f4E2M1FN", ("Float6E2M3FN", "Float6E3M2FN")),
    TypeInfo("Float6E2M3FN", "float", 6, "f6E2M3FN", ("Float8E4M3FN",)),
    TypeInfo("Float6E3M2FN", "float", 6, "f6E3M2FN", ("Float8E4M3FN",)),
    TypeInfo("Float8E4M3", "float", 8, "f8E4M3", ("Float16",)),
    TypeInfo("Float8E4M3FN", "float", 8, "f8E4M3FN", ("Float16",)),
    TypeInfo("Float8E4M3B11FNUZ", "float", 8, "f8E4M3B11FNUZ", ("Float16",)),
    TypeInfo("Float8E4M3FNUZ", "float", 8, "f8E4M3FNUZ", ("Float16",)),
    TypeInfo("Float8E5M2FNUZ", "float", 8, "f8E5M2FNUZ", ("Float16",)),
    TypeInfo("Float8E5M2", "float", 8, "f8E5M2", ("Float16",)),
    TypeInfo("Float8E8M0FNU", "float", 8, "f8E8M0FNU", ("BFloat16",)),
    TypeInfo("Float16", "float", 16, "f16", ("Float32",)),
    TypeInfo("BFloat16", "float", 16, "bf16", ("Float32",)),
    TypeInfo("TFloat32", "float", 32, "tf32", ("Float32",)),
    TypeInfo("Float32", "float", 32, "f32", ("Float64",)),
    TypeInfo("Float64", "float", 64, "f64", ()),
)
TYPES: Mapping[str, TypeInfo] = MappingProxyType({info.name: info for info in _TABLE})

PYTHON_NUMBERS: Mapping[type, str] = MappingProxyType({bool: "Boolean", int: "Int32", float: "Float32"})
"""What a Python number is at run time when nothing says otherwise."""


@cache
def wider(name: str) -> frozenset[str]:
    """`name` and every type that holds all its values."""
    return frozenset({name}).union(*(wider(parent) for parent in TYPES[name].promotes_to))


@cache
def join(left: str, right: str) -> str | None:
    """The smallest type that holds the values of both, or None: what a variable is after a branch."""
    both = wider(left) & wider(right)
    smallest = [name for name in both if both <= wider(name)]
    return smallest[0] if smallest else None


@cache
def arithmetic(left: str, right: str) -> str | None:
    """The type of `left + right`: the join; with a float on one side, that float; two Booleans count as ints."""
    kinds = {TYPES[left].kind, TYPES[right].kind}
    if kinds == {"bool"}:
        return PYTHON_NUMBERS[int]
    if "float" in kinds and len(kinds) > 1:
        return left if TYPES[left].kind == "float" else right
    return join(left, right)


@cache
def quotient(left: str, right: str) -> str | None:
    """The type of `left / right`: floats as in arithmetic, integers by their width."""
    result = arithmetic(left, right)
    if result is None or TYPES[result].kind == "float":
        return result
    return float_for(result)


def float_for(integer: str) -> str:
    """The float type that integers of a type become in true division and beside a Python float."""
    return "Float32" if TYPES[integer].width <= 32 else "Float64"
