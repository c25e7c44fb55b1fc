"""Conversions between numeric types, as operations on raw MLIR values, and Python numbers into types.

No conversion is undefined: floats to integers saturate, and Float64 to the 16-bit floats rounds once.
"""

from __future__ import annotations

import math
import struct
from typing import Any

from triptych.metastage.errors import LiteralRangeError, OperandTypeError
from triptych.metastage.promotion import TYPES, TypeInfo
from triptych.metastage.tracing import Trace, place

_F32, _F64, _I32 = TYPES["Float32"], TYPES["Float64"], TYPES["Int32"]
_UNORDERED_NOT_EQUAL, _ORDERED_NOT_EQUAL, _ORDERED_GREATER = 13, 6, 2
_INT_EQUAL, _INT_NOT_EQUAL = 0, 1


def fit(value: bool | int | float, info: TypeInfo, explicit: bool) -> bool | int | float:
    """A Python number as a value of the type; `explicit` allows what a constructor allows (truncation, truth)."""
    if info.kind == "bool":
        return bool(value)
    if info.kind == "float":
        return _fit_float(value, info)
    if isinstance(value, float) and not explicit:
        raise OperandTypeError(
            f"the float {value!r} cannot be a {info.name}",
            span=place(),
            found=f"the Python float {value!r}",
            expected=f"an integer, for {info.name}",
            instead=f"{info.name}({value!r}) to truncate it, or a float type",
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise _does_not_fit(value, info)
    number = int(value)
    if not info.holds(number):
        raise _does_not_fit(number, info)
    return number


def _fit_float(value: bool | int | float, info: TypeInfo) -> float:
    try:
        number = float(value)
        layout = {"Float16": "<e", "Float32": "<f"}.get(info.name)
        if layout is None or not math.isfinite(number):
            return number
        rounded: float = struct.unpack(layout, struct.pack(layout, number))[0]
        return rounded
    except OverflowError:
        raise _does_not_fit(value, info) from None


def _does_not_fit(value: int | float, info: TypeInfo) -> LiteralRangeError:
    bounds = ""
    if info.is_integer:
        bounds = " ({} to {})".format(*info.bounds)
    candidates = ("Int16", "Int32", "Int64", "Uint64", "Int128") if isinstance(value, int) else ()
    wide = next((name for name in candidates if TYPES[name].holds(int(value))), "Float64")
    return LiteralRangeError(
        f"{value!r} does not fit {info.name}",
        span=place(),
        found=f"the Python number {value!r}",
        expected=f"a number within {info.name}{bounds}",
        instead=f"a wider type, for example {wide}",
    )


def constant(trace: Trace, value: bool | int | float, info: TypeInfo) -> Any:
    """A number as an MLIR constant."""
    builder = trace.builder
    if info.kind == "float":
        attribute = builder.float(info.mlir, float(value))
    else:
        attribute = builder.integer(info.mlir, int(value))
    return trace.value("arith.constant", (), info.mlir, {"value": attribute})


def convert(trace: Trace, value: Any, source: TypeInfo, target: TypeInfo) -> Any:
    """`value` of type `source` as type `target`."""
    if source.name == target.name:
        return value
    if target.kind == "bool":
        return truth(trace, value, source)
    if source.kind == "float":
        return (
            _float_to_float(trace, value, source, target)
            if target.kind == "float"
            else _to_integer(trace, value, source, target)
        )
    signed = source.kind == "int"
    if target.kind == "float" and target.width < 32 <= source.width:
        # LLVM goes through Float32, whose 24 bits would round a first time; Float64 has 53.
        return convert(trace, convert(trace, value, source, _F64), _F64, target)
    if target.kind == "float":
        return trace.value("arith.sitofp" if signed else "arith.uitofp", (value,), target.mlir)
    if source.width == target.width:
        return value
    if source.width > target.width:
        return trace.value("arith.trunci", (value,), target.mlir)
    return trace.value("arith.extsi" if signed else "arith.extui", (value,), target.mlir)


def truth(trace: Trace, value: Any, source: TypeInfo) -> Any:
    """Python's truth of a number: anything but zero (so NaN is true)."""
    if source.kind == "bool":
        return value
    zero = constant(trace, 0, source)
    if source.kind == "float":
        return compare(trace, "arith.cmpf", _UNORDERED_NOT_EQUAL, value, zero)
    return compare(trace, "arith.cmpi", _INT_NOT_EQUAL, value, zero)


def compare(trace: Trace, operation: str, predicate: int, left: Any, right: Any) -> Any:
    return trace.value(operation, (left, right), "i1", {"predicate": trace.builder.integer("i64", predicate)})


def _to_integer(trace: Trace, value: Any, source: TypeInfo, target: TypeInfo) -> Any:
    """Toward zero; beyond the range the nearest integer, NaN gives 0 (LLVM's plain cast would be undefined)."""
    if source.width < 32:
        value, source = convert(trace, value, source, _F32), _F32
    attribute, name = trace.builder.attribute, "llvm.fptosi.sat" if target.kind == "int" else "llvm.fptoui.sat"
    called = {
        "intrin": trace.builder.string(f"{name}.{target.mlir}.{source.mlir}"),
        "operandSegmentSizes": attribute("array<i32: 1, 0>"),
        "op_bundle_sizes": attribute("array<i32>"),
    }
    return trace.value("llvm.call_intrinsic", (value,), target.mlir, called)


def _float_to_float(trace: Trace, value: Any, source: TypeInfo, target: TypeInfo) -> Any:
    if source.width == target.width:
        wide = trace.value("arith.extf", (value,), _F32.mlir)
        return trace.value("arith.truncf", (wide,), target.mlir)
    return trace.value("arith.extf" if source.width < target.width else "arith.truncf", (value,), target.mlir)


def bitcast(trace: Trace, value: Any, source: TypeInfo, target: TypeInfo) -> Any:
    """The same bits as another type."""
    if source.width != target.width:
        raise OperandTypeError(
            f"{source.name} has {source.width} bits and {target.name} has {target.width}",
            span=place(),
            found=f"a bitcast from {source.name} to {target.name}",
            expected="types of equal width",
            instead=f".to({target.name}) to convert the value",
        )
    if source.mlir == target.mlir:
        return value
    return trace.value("arith.bitcast", (value,), target.mlir)
