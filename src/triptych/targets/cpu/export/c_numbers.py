"""Python numbers as the C types of an exported function's parameters, and back."""

from __future__ import annotations

import ctypes
import math
import struct
from typing import Any

from triptych.targets.cpu.calling.scalars import Scalar

_INTEGERS: dict[tuple[str, int], Any] = {
    ("boolean", 8): ctypes.c_bool,
    **{("signed", width): getattr(ctypes, f"c_int{width}") for width in (8, 16, 32, 64)},
    **{("unsigned", width): getattr(ctypes, f"c_uint{width}") for width in (8, 16, 32, 64)},
}
_FLOATS: dict[str, Any] = {"Float16": ctypes.c_uint16, "BFloat16": ctypes.c_uint16, "Float32": ctypes.c_float}


def number_cell(scalar: Scalar, number: float) -> Any:
    """Memory that holds the number."""
    kind = number_type(scalar)
    if scalar.name == "Float16":
        return kind(struct.unpack("<H", struct.pack("<e", number))[0])
    return kind(_bfloat_bits(number) if scalar.name == "BFloat16" else number)


def number_type(scalar: Scalar) -> Any:
    """The type of that memory."""
    if scalar.kind == "float":
        return _FLOATS.get(scalar.name, ctypes.c_double)
    return _INTEGERS[scalar.kind, max(scalar.width, 8)]


def number_in(cell: Any, scalar: Scalar) -> Any:
    """The number that memory holds."""
    if scalar.name == "Float16":
        return struct.unpack("<e", struct.pack("<H", cell.value))[0]
    if scalar.name == "BFloat16":
        return struct.unpack("<f", struct.pack("<I", cell.value << 16))[0]
    return cell.value


def fits(scalar: Scalar, number: Any) -> bool:
    """Whether it is a number of this type, if need be rounded. An infinity is none of a finite number."""
    if scalar.kind == "boolean":
        return type(number) is bool
    if scalar.kind == "float":
        return type(number) in (int, float, bool) and _is_finite_as(scalar, number)
    return type(number) in (int, bool) and scalar.low <= number <= scalar.high


def _is_finite_as(scalar: Scalar, number: float) -> bool:
    try:
        wide = float(number)
        rounded = number_in(number_cell(scalar, wide), scalar)
    except OverflowError:
        return False
    return math.isinf(rounded) <= math.isinf(wide)


def _bfloat_bits(number: float) -> int:
    """Rounded once, to the nearest of eight significant bits."""
    if math.isfinite(number) and number:
        exponent = max(math.frexp(number)[1] - 8, -133)
        number = math.copysign(math.ldexp(round(math.ldexp(abs(number), -exponent)), exponent), number)
    bits: int = struct.unpack("<I", struct.pack("<f", number))[0]
    return bits >> 16 | (64 if math.isnan(number) else 0)
