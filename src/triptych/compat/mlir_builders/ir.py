"""Types and values of MLIR as programs name them: `cutlass._mlir.ir`."""

from __future__ import annotations

from typing import Any

from triptych.compat.mlir_builders.values import Value
from triptych.cute.memory.vectors import vector_type
from triptych.cute.tracing.device import tracing
from triptych.ir.handles import Type as MlirType
from triptych.ir.types import is_vector, type_text

__all__ = [
    "BF16Type",
    "F16Type",
    "F32Type",
    "F64Type",
    "InsertionPoint",
    "IntegerType",
    "Location",
    "Type",
    "Value",
    "VectorType",
]


def __dir__() -> list[str]:
    return __all__


class Location:
    """Annotates `loc`, which programs pass along; places are known without it."""


class InsertionPoint:
    """Annotates `ip`, which programs pass along; operations go where the program is."""


def _type(text: str) -> MlirType:
    return tracing().builder.type(text)


class Type:
    """A type by its text."""

    @staticmethod
    def parse(asm: str) -> MlirType:
        """The type that MLIR writes so."""
        return _type(asm)


class IntegerType:
    """Integers by their width."""

    @staticmethod
    def get_signless(width: int) -> MlirType:
        """As computers have them: what is negative the operations say."""
        return _type(f"i{width}")


class VectorType:
    """Vectors of numbers."""

    def __new__(cls, cast_from_type: MlirType) -> Any:
        """The type itself, if it is one of vectors."""
        if not is_vector(cast_from_type):
            raise ValueError(f"{type_text(cast_from_type)} is no type of vectors")
        return cast_from_type

    @staticmethod
    def get(shape: list[int], element_type: MlirType, *, loc: object = None) -> MlirType:
        """Of one dimension, as registers have them."""
        (count,) = shape
        return _type(vector_type(count, type_text(element_type)))


class F16Type:
    """Float16."""

    @staticmethod
    def get() -> MlirType:
        return _type("f16")


class BF16Type:
    """BFloat16."""

    @staticmethod
    def get() -> MlirType:
        return _type("bf16")


class F32Type:
    """Float32."""

    @staticmethod
    def get() -> MlirType:
        return _type("f32")


class F64Type:
    """Float64."""

    @staticmethod
    def get() -> MlirType:
        return _type("f64")
