"""Values between builder calls and the language: numbers are numbers of the language, all else keeps its MLIR type."""

from __future__ import annotations

from typing import Any

from triptych.cute.tracing.device import tracing
from triptych.ir import bindings
from triptych.ir.handles import Type
from triptych.ir.handles import Value as Raw
from triptych.ir.types import is_float, is_integer, type_text
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import in_progress, place
from triptych.metastage.values.numeric import leaked
from triptych.metastage.values.scalars import NUMERIC_CLASSES, Numeric

_NUMBERS = {cls.info.mlir: cls for cls in NUMERIC_CLASSES.values() if cls.info.kind != "uint"}
"""The class of each MLIR type; its integers have no sign, and count as signed ones here."""


class Value:
    """A value that is no number of the language: a struct, a pointer, a vector. It lives as long as its region."""

    def __init__(self, value: object) -> None:
        self._value = raw(value)
        self._region = tracing().region

    @property
    def type(self) -> Type:
        """Its MLIR type."""
        return self._value.type

    def ir_value(self) -> Raw:
        """The MLIR value."""
        region = self._region
        if not region.open or region.trace is not in_progress():
            raise leaked(self, region)
        return self._value

    def __str__(self) -> str:
        return f"a value of type {type_text(self._value.type)}"

    __repr__ = __str__

    def __extract_mlir_values__(self) -> list[Any]:
        return [self.ir_value()]

    def __new_from_mlir_values__(self, values: list[Any]) -> Value:
        (value,) = values
        return type(self)(value)


# Any: whatever a program has that stands for a value.
def raw(value: Any) -> Raw:
    """The MLIR value of a number, pointer, tensor or value; a value by itself stays."""
    given = getattr(value, "ir_value", None)
    if given is not None:
        found: Raw = given()
        return found
    if not isinstance(value, bindings.mlir().Value):
        raise OperandTypeError(
            f"{type(value).__name__} is no value of the program",
            span=place(),
            found=repr(value),
            expected="a number, a pointer or a result of another builder call",
        )
    plain: Raw = value
    return plain


def wrapped(value: Raw) -> Numeric | Value:
    """What a builder call gives the program."""
    kind = value.type
    if (is_integer(kind) or is_float(kind)) and type_text(kind) in _NUMBERS:
        return _NUMBERS[type_text(kind)].of(value, tracing().region)
    return Value(value)
