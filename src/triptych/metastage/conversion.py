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
        if info is _F32 and math.isfinite(number):
            struct.pack("<f", number)
        elif info.name == "Float16" and math.isfinite(number):
            struct.pack("<e", number)
    except OverflowError:
        raise _does_not_fit(value, info) from None
    return number


def _does_not_fit(value: int | float, info: TypeInfo) -> LiteralRangeError:
    bounds = ""
    if info.is_integer:
        low = -(1 << (info.width - 1)) if info.kind == "int" else 0
        bounds = f" ({low} to {low + (1 << info.width) - 1})"
    candidates = ("Int64", "Uint64", "Int128") if isinstance(value, int) else ()
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
        value = convert(trace, value, source, _F32)
    operation = "llvm.intr.fptosi.sat" if target.kind == "int" else "llvm.intr.fptoui.sat"
    return trace.value(operation, (value,), target.mlir)


def _float_to_float(trace: Trace, value: Any, source: TypeInfo, target: TypeInfo) -> Any:
    if source is _F64 and target.width < _F32.width:
        return _float_to_float(trace, _round_to_odd(trace, value), _F32, target)
    if source.width == target.width:
        wide = trace.value("arith.extf", (value,), _F32.mlir)
        return trace.value("arith.truncf", (wide,), target.mlir)
    return trace.value("arith.extf" if source.width < target.width else "arith.truncf", (value,), target.mlir)


def _round_to_odd(trace: Trace, value: Any) -> Any:
    """Float64 to Float32 keeping in the last bit that it was inexact, so that a second rounding is the only one."""
    nearest = trace.value("arith.truncf", (value,), _F32.mlir)
    back = trace.value("arith.extf", (nearest,), _F64.mlir)
    inexact = compare(trace, "arith.cmpf", _ORDERED_NOT_EQUAL, back, value)
    bits = trace.value("arith.bitcast", (nearest,), "i32")
    one = constant(trace, 1, _I32)
    even = compare(
        trace, "arith.cmpi", _INT_EQUAL, trace.value("arith.andi", (bits, one), "i32"), constant(trace, 0, _I32)
    )
    magnitudes = [trace.value("math.absf", (v,), _F64.mlir) for v in (back, value)]
    up = compare(trace, "arith.cmpf", _ORDERED_GREATER, *magnitudes)
    down_bits = trace.value("arith.subi", (bits, one), "i32")
    up_bits = trace.value("arith.addi", (bits, one), "i32")
    odd = trace.value("arith.select", (up, down_bits, up_bits), "i32")
    adjust = trace.value("arith.andi", (inexact, even), "i1")
    chosen = trace.value("arith.select", (adjust, odd, bits), "i32")
    return trace.value("arith.bitcast", (chosen,), _F32.mlir)


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
