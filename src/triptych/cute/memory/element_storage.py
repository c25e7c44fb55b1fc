"""Element storage: which LLVM type holds an element, and how a value becomes that and back.

LLVM knows neither narrow floats nor a Boolean of one byte, so memory holds integers and the value is a conversion of
them. Types narrower than a byte are packed from the low bits upwards.
"""

from __future__ import annotations

import math
from functools import cache

from triptych.cute.dynamic.traced_integers import is_of_layout, within_int32
from triptych.cute.memory.vectors import vector_type
from triptych.cute.tracing.errors import ElementTypeError
from triptych.ir.handles import Value
from triptych.metastage.trace.trace import Trace
from triptych.metastage.values.coercion import declared_number
from triptych.metastage.values.promotion import TYPES, TypeInfo
from triptych.metastage.values.scalars import NUMERIC_CLASSES, Boolean, Int32, Int64, Numeric, TFloat32
from triptych.support.dataclass import dataclass

_NOT_EQUAL = 1
_TF32_BITS = -(1 << 13)
"""The low bits of the 32 that a TFloat32 does not have."""


@dataclass(frozen=True, slots=True)
class Storage:
    """How memory holds elements of one type: `group` of them in `group_bytes` bytes, in units of the type `unit`."""

    dtype: type[Numeric]
    unit: str
    group: int
    group_bytes: int

    @property
    def is_packed(self) -> bool:
        """Whether an element is a part of a byte."""
        return self.dtype.width < 8 and self.dtype is not Boolean

    @property
    def alignment(self) -> int:
        """The alignment in bytes that an element has by itself."""
        return 1 if self.is_packed else self.group_bytes

    def size_in_bytes(self, count: int) -> int:
        """The bytes of `count` elements; of packed ones, whole bytes."""
        return -(-count * self.group_bytes // self.group)

    def memory_type(self, count: int | None) -> str:
        """The LLVM type of an access to a vector of `count` elements, or to one by itself (None)."""
        return sized(self.unit, count if count is None or not self.is_packed else self.size_in_bytes(count))

    def from_memory(self, trace: Trace, raw: Value, count: int | None) -> Value:
        """What an access has read, as elements: a vector of `count`, or one by itself."""
        info = self.dtype.info
        if self.dtype is Boolean:
            different = {"predicate": trace.builder.integer("i64", _NOT_EQUAL)}
            zero = constant(trace, sized(self.unit, count), 0)
            return trace.value("arith.cmpi", (raw, zero), sized("i1", count), different)
        if self.dtype is TFloat32:
            return _read_tf32(trace, raw, count)
        if self.is_packed and count is not None:
            raw = trace.value("vector.bitcast", (raw,), sized(f"i{info.width}", count))
        return raw if _is_native(info) else trace.value("arith.bitcast", (raw,), sized(info.mlir, count))

    def to_memory(self, trace: Trace, value: Value, count: int | None) -> Value:
        """Elements, a vector of `count` or one by itself, as an access writes them."""
        info = self.dtype.info
        if self.dtype is Boolean:
            return trace.value("arith.extui", (value,), self.memory_type(count))
        if self.dtype is TFloat32:
            wide = trace.value("arith.extf", (value,), sized("f32", count))
            return trace.value("arith.bitcast", (wide,), self.memory_type(count))
        if not _is_native(info):
            value = trace.value("arith.bitcast", (value,), sized(f"i{info.width}", count))
        if self.is_packed and count is not None:
            return trace.value("vector.bitcast", (value,), self.memory_type(count))
        return value


def storage_of(dtype: type[Numeric]) -> Storage:
    """The storage of a numeric type."""
    return _storage(dtype.info.name)


@cache
def _storage(name: str) -> Storage:
    dtype, info = NUMERIC_CLASSES[name], TYPES[name]
    if dtype is Boolean:
        return Storage(dtype, "i8", 1, 1)
    if dtype is TFloat32:
        return Storage(dtype, "i32", 1, 4)
    if info.width < 8:
        group = 8 // math.gcd(8, info.width)
        return Storage(dtype, "i8", group, group * info.width // 8)
    return Storage(dtype, info.mlir if _is_native(info) else f"i{info.width}", 1, info.width // 8)


def sized(element: str, count: int | None) -> str:
    """The MLIR type of a vector of `count` elements, or of one by itself."""
    return element if count is None else vector_type(count, element)


def constant(trace: Trace, type_text: str, value: int) -> Value:
    """An integer constant, the same for every element when the type is a vector."""
    if type_text.startswith("vector"):
        attribute = trace.builder.attribute(f"dense<{value}> : {type_text}")
    else:
        attribute = trace.builder.integer(type_text, value)
    return trace.value("arith.constant", (), type_text, {"value": attribute})


def _is_native(info: TypeInfo) -> bool:
    """Whether LLVM has the type itself."""
    return info.kind != "float" or info.mlir in ("f16", "bf16", "f32", "f64")


def _read_tf32(trace: Trace, raw: Value, count: int | None) -> Value:
    """The bits beyond the type count for nothing, so that the conversion is exact."""
    bits = sized("i32", count)
    kept = trace.value("arith.andi", (raw, constant(trace, bits, _TF32_BITS)), bits)
    wide = trace.value("arith.bitcast", (kept,), sized("f32", count))
    return trace.value("arith.truncf", (wide,), sized("tf32", count))


def element_value(value: object, dtype: type[Numeric], what: object) -> Value:
    """A number as an MLIR value of the element type. A coordinate whose parts are Int32 is one, which is checked."""
    if dtype is Int32 and isinstance(value, Int64) and is_of_layout(value):
        value = within_int32(value, "an integer of a layout")
    return declared_number(value, dtype, what, ElementTypeError).ir_value()
