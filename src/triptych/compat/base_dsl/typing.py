"""Types of the base language: those of `cute.typing`, vectors in registers, the protocol of a program's own types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from triptych.compat.mlir_builders.types import T
from triptych.compat.mlir_builders.values import Value, raw
from triptych.cute import typing as types
from triptych.cute.memory.vectors import extract, join, vector_type
from triptych.cute.tracing.device import tracing
from triptych.cute.typing import *  # noqa: F403 - all of it, under the public name
from triptych.ir.types import count_and_element
from triptych.metastage.kernels.launches import flatten
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.mlir_types import NumericType
from triptych.metastage.values.scalars import Numeric, numeric_class

__all__ = ["FloatMeta", "T", "Vector", "get_c_pointers", "get_mlir_types"]
__all__ += types.__all__


def __dir__() -> list[str]:
    return __all__


class Vector(Value):
    """Numbers of one type side by side in registers."""

    def __init__(self, value: object, dtype: type[Numeric]) -> None:
        super().__init__(value)
        self.dtype = dtype

    @staticmethod
    def from_elements(
        elements: Sequence[Any], dtype: type[Numeric], *, loc: object = None, ip: object = None
    ) -> Vector:
        """A vector of the given numbers."""
        kind = numeric_class(dtype)
        numbers = [raw(kind(each)) for each in elements]
        if not numbers:
            raise OperandTypeError(
                "a vector has at least one element", span=place(), found="none", expected="one number or more"
            )
        return Vector(join(tracing(), numbers, kind.info.mlir), kind)

    def __len__(self) -> int:
        vector = count_and_element(self.type)
        assert vector is not None, "it is made of vectors of one dimension only"
        return vector[0]

    def bitcast(self, dtype: type[Numeric], *, loc: object = None, ip: object = None) -> Vector:
        """The same bits as numbers of another type."""
        kind, bits = numeric_class(dtype), len(self) * self.dtype.width
        if bits % kind.width:
            raise OperandTypeError(
                "the bits of a vector are whole numbers of a type",
                span=place(),
                found=f"{bits} bits as numbers of {kind.width}",
                expected=f"a type whose width divides {bits}",
            )
        result = vector_type(bits // kind.width, kind.info.mlir)
        return Vector(tracing().value("vector.bitcast", (self.ir_value(),), result), kind)

    def to_elements(self, *, loc: object = None, ip: object = None) -> tuple[Numeric, ...]:
        """Its numbers."""
        trace, value, kind = tracing(), self.ir_value(), self.dtype
        return tuple(kind.of(extract(trace, value, i, kind.info.mlir), trace.region) for i in range(len(self)))

    def __new_from_mlir_values__(self, values: list[Any]) -> Vector:
        (value,) = values
        return Vector(value, self.dtype)


class FloatMeta(NumericType):
    """The class of a program's own classes of floats, of which there are none: the language knows its numbers."""

    def __new__(mcs, name: str, bases: tuple[type, ...], body: Mapping[str, Any], **options: object) -> NoReturn:
        """Refuse it."""
        raise OperandTypeError(
            f"`{name}` is a class of numbers of the program's own",
            found=f"class {name}(..., metaclass=FloatMeta)",
            expected="the numbers of the language, whose widths and operators are known",
            instead="a class with fields that are numbers: a dataclass or a NamedTuple",
        )


def get_mlir_types(obj: object) -> list[Any]:
    """The MLIR types of the values that an object of the program is made of."""
    own = getattr(obj, "__get_mlir_types__", None)
    return [value.type for value in flatten(obj, tracing())[0]] if own is None else list(own())


def get_c_pointers(obj: object) -> list[Any]:
    """What an object of the program passes to compiled code: its own parts, or itself, whose address is found then."""
    own = getattr(obj, "__c_pointers__", None)
    return [obj] if own is None else list(own())
