"""Conversions between numeric types, as operations on raw MLIR values, and Python numbers into types.

No conversion is undefined: floats to integers saturate. No conversion rounds twice: `arith.truncf` and `arith.sitofp`
mean one rounding whatever the types, and a target that goes by way of another type has to see to it.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Mapping
from typing import Any

from triptych.ir.handles import Value
from triptych.ir.types import type_text
from triptych.metastage.trace.errors import LiteralRangeError, OperandTypeError
from triptych.metastage.trace.trace import Trace, place
from triptych.metastage.values.promotion import TYPES, TypeInfo, wider
from triptych.support.float_formats import FLOAT_FORMATS, SATURATE
from triptych.support.wording import with_article

_F32, _I32 = TYPES["Float32"], TYPES["Int32"]
_MOST_F32 = (2 - 2**-23) * 2.0**127
_TF32_BITS = -(1 << 13)
"""The bits of a Float32 that TF32 has too."""
_UNORDERED_NOT_EQUAL, _ORDERED_NOT_EQUAL, _ORDERED_GREATER = 13, 6, 2
_INT_EQUAL, _INT_NOT_EQUAL = 0, 1
BITWISE = ("&", "|", "^")


def fit(value: bool | int | float, info: TypeInfo, explicit: bool) -> bool | int | float:
    """A Python number as a value of the type; `explicit` allows what a constructor allows (truncation, truth)."""
    if info.kind == "bool":
        if not explicit and (isinstance(value, float) or value not in (0, 1)):
            raise _does_not_fit(value, info)
        return bool(value)
    if info.kind == "float":
        return _fit_float(value, info)
    if isinstance(value, float) and not explicit:
        raise OperandTypeError(
            f"the float {value!r} cannot be {with_article(info.name)}",
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


def wrapped(value: bool | int | float, info: TypeInfo, saturate: bool) -> bool | int | float:
    """A constant converted as `.to` converts: integers wrap, floats saturate where asked to."""
    if saturate and info.mlir in FLOAT_FORMATS:
        largest = FLOAT_FORMATS[info.mlir].decode(FLOAT_FORMATS[info.mlir].largest)
        value = max(-largest, min(largest, value))
    if not info.is_integer:
        return fit(value, info, explicit=True)
    if isinstance(value, float):
        return info.nearest(value)
    number = int(value) & ((1 << info.width) - 1)
    return number - (1 << info.width) if info.kind == "int" and number >> (info.width - 1) else number


FOLDED = {"+": operator.add, "-": operator.sub, "*": operator.mul}
"""What Python computes of typed constants outside a traced function."""


def folded(op: str, info: TypeInfo, left: float, right: float) -> bool | int | float:
    """`left op right` in the type, to which Python's sum or product of its numbers is rounded once."""
    result = FOLDED[op](fit(left, info, explicit=False), fit(right, info, explicit=False))
    return wrapped(result, info, saturate=False)


# Any: whatever a constructor or an operator is given comes back as it is, unless it is such an int.
def signed_bits(value: Any, info: TypeInfo) -> Any:
    """A bit pattern that a signed type is given as an unsigned number, `Int32(0xFFFFFFFF)`: the number that has it."""
    high = 1 << (info.width - 1)
    return value - 2 * high if type(value) is int and info.kind == "int" and high <= value < 2 * high else value


def operand_bits(op: str, value: Any, info: TypeInfo) -> Any:
    """The complement of a literal beside an unsigned number, `u & ~(1 << 31)`: the bits that the type has of it.

    Only in operators of bits, in which no bit depends on those beyond the width.
    """
    is_complement = op in BITWISE and info.kind == "uint" and type(value) is int and value < 0 and info.holds(~value)
    return value & info.bounds[1] if is_complement else value


def _fit_float(value: bool | int | float, info: TypeInfo) -> float:
    try:
        number = float(value)
        form = FLOAT_FORMATS.get(info.mlir)
        if form is None:
            return _round_to_float32(number) if info is _F32 else number
    except OverflowError:
        raise _does_not_fit(value, info) from None
    if not form.holds(number):
        raise _does_not_fit(value, info)
    return form.round(number)


def _round_to_float32(number: float) -> float:
    rounded: float = struct.unpack("<f", struct.pack("<f", number))[0]
    return rounded


def _does_not_fit(value: int | float, info: TypeInfo) -> LiteralRangeError:
    bounds = " ({} to {})".format(*info.bounds) if info.is_integer else ""
    if info.kind == "bool":
        return LiteralRangeError(
            f"{value!r} does not fit {info.name}",
            span=place(),
            found=f"the Python number {value!r}",
            expected="True or False",
            instead=f"`bool({value!r})`, or a number type",
        )
    bits = (
        f", or {info.name}({value:#x}) for these bits"
        if type(value) is int and signed_bits(value, info) != value
        else ""
    )
    return LiteralRangeError(
        f"{value!r} does not fit {info.name}",
        span=place(),
        found=f"the Python number {value!r}",
        expected=f"a number within {info.name}{bounds}",
        instead=f"a wider type, for example {_wider_for(value, info)}{bits}",
    )


def _wider_for(value: int | float, info: TypeInfo) -> str:
    """The nearest of the types that hold all values of this one, and the number too."""
    pending = list(info.promotes_to)
    while pending:
        wide = TYPES[pending.pop(0)]
        if _holds(value, wide):
            return wide.name
        pending += wide.promotes_to
    return "Float64"


def _holds(value: int | float, info: TypeInfo) -> bool:
    if info.is_integer:
        return isinstance(value, int) and info.holds(value)
    if abs(value) > _MOST_F32:
        return info.name == "Float64"
    form = FLOAT_FORMATS.get(info.mlir)
    return form is None or form.holds(float(value))


def constant(trace: Trace, value: bool | int | float, info: TypeInfo) -> Value:
    """A number as an MLIR constant."""
    builder = trace.builder
    if info.kind == "float":
        attribute = builder.float(info.mlir, float(value))
    else:
        attribute = builder.integer(info.mlir, int(value))
    return trace.value("arith.constant", (), info.mlir, {"value": attribute})


_SIGNLESS = {info.mlir: info for info in TYPES.values() if info.kind != "uint"}
"""What MLIR's types are by themselves; of an integer of more than a bit, its sign is not known."""


def from_builder(trace: Trace, value: Value, info: TypeInfo) -> Value:
    """What a builder call or `ir_value()` has given, as a value of a type: an integer keeps its bits, or the lower ones
    of them. What depends on its sign, which MLIR's integers do not have, is refused."""
    text = type_text(value.type)
    if text == info.mlir:
        return value
    source = _SIGNLESS.get(text)
    if source is not None:
        narrows = info.is_integer and source.width > info.width
        if source.kind != "int" or info.kind == "bool" or narrows:
            return convert(trace, value, source, info)
    raise OperandTypeError(
        f"a value of type {text} is no {info.name}",
        span=place(),
        found=f"an MLIR value of type {text}",
        expected=f"one of type {info.mlir}",
        instead=f"Int{source.width}(value) or Uint{source.width}(value) first: MLIR's integers have no sign"
        if source is not None
        else "a builder call that gives a number",
    )


def convert(trace: Trace, value: Value, source: TypeInfo, target: TypeInfo, *, saturate: bool = False) -> Value:
    """`value` of type `source` as type `target`; `saturate` keeps what is too large for a float type finite."""
    if source.name == target.name:
        return value
    if target.kind == "bool":
        return truth(trace, value, source)
    if source.kind == "float":
        return (
            _float_to_float(trace, value, source, target, saturate)
            if target.kind == "float"
            else _to_integer(trace, value, source, target)
        )
    signed = source.kind == "int"
    if target.kind == "float":
        return trace.value("arith.sitofp" if signed else "arith.uitofp", (value,), target.mlir, _marks(trace, saturate))
    if source.width == target.width:
        return value
    if source.width > target.width:
        return trace.value("arith.trunci", (value,), target.mlir)
    return trace.value("arith.extsi" if signed else "arith.extui", (value,), target.mlir)


def truth(trace: Trace, value: Value, source: TypeInfo) -> Value:
    """Python's truth of a number: anything but zero (so NaN is true)."""
    if source.kind == "bool":
        return value
    if source.kind == "float" and source.width < 16:
        # Float8E8M0FNU has no zero to compare with.
        value, source = convert(trace, value, source, _F32), _F32
    zero = constant(trace, 0, source)
    if source.kind == "float":
        return compare(trace, "arith.cmpf", _UNORDERED_NOT_EQUAL, value, zero)
    return compare(trace, "arith.cmpi", _INT_NOT_EQUAL, value, zero)


def compare(trace: Trace, operation: str, predicate: int, left: Value, right: Value) -> Value:
    return trace.value(operation, (left, right), "i1", {"predicate": trace.builder.integer("i64", predicate)})


def _to_integer(trace: Trace, value: Value, source: TypeInfo, target: TypeInfo) -> Value:
    """Toward zero; beyond the range the nearest integer, NaN gives 0 (LLVM's plain cast would be undefined)."""
    if source.mlir in FLOAT_FORMATS:
        value, source = convert(trace, value, source, _F32), _F32
    name = "llvm.fptosi.sat" if target.kind == "int" else "llvm.fptoui.sat"
    called = trace.builder.call_attributes(1, intrin=trace.builder.string(f"{name}.{target.mlir}.{source.mlir}"))
    return trace.value("llvm.call_intrinsic", (value,), target.mlir, called)


def _float_to_float(trace: Trace, value: Value, source: TypeInfo, target: TypeInfo, saturate: bool) -> Value:
    """Exact where the target holds every value; two types of which neither holds the other meet in Float32."""
    if target.name in wider(source.name):
        return trace.value("arith.extf", (value,), target.mlir)
    if source.name not in wider(target.name):
        value = trace.value("arith.extf", (value,), _F32.mlir)
    return trace.value("arith.truncf", (value,), target.mlir, _marks(trace, saturate))


def _marks(trace: Trace, saturate: bool) -> Mapping[str, Any] | None:
    return {SATURATE: trace.builder.attribute("unit")} if saturate else None


def bitcast(trace: Trace, value: Value, source: TypeInfo, target: TypeInfo) -> Value:
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
    if source.mlir == "tf32":
        return bitcast(trace, convert(trace, value, source, _F32), _F32, target)
    if target.mlir == "tf32":
        return _as_tf32(trace, bitcast(trace, value, source, _I32))
    return trace.value("arith.bitcast", (value,), target.mlir)


def _as_tf32(trace: Trace, bits: Value) -> Value:
    """The low bits count for nothing, as in the units that compute with TF32; so the conversion is exact."""
    kept = trace.value("arith.andi", (bits, constant(trace, _TF32_BITS, _I32)), _I32.mlir)
    return convert(trace, bitcast(trace, kept, _I32, _F32), _F32, TYPES["TFloat32"])
