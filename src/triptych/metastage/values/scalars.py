"""Scalar classes, one for each row of the promotion table."""

from __future__ import annotations

import math
from abc import ABC
from typing import ClassVar

from triptych.metastage.values.numeric import (
    NUMERIC_CLASSES,
    Numeric,
    as_number,
    is_number_class,
    materialize,
    numeric_class,
)
from triptych.metastage.values.promotion import TYPES
from triptych.support.float_formats import FLOAT_FORMATS

__all__ = [
    "NUMERIC_CLASSES",
    "Numeric",
    "as_number",
    "dtype_named",
    "is_number_class",
    "materialize",
    "numeric_class",
]


class Boolean(Numeric):
    """True or false."""

    __slots__ = ()


class Int4(Numeric):
    """A signed integer of 4 bits, -8 to 7; arithmetic wraps around."""

    __slots__ = ()


class Int8(Numeric):
    """A signed integer of 8 bits, -128 to 127; arithmetic wraps around."""

    __slots__ = ()


class Int16(Numeric):
    """A signed integer of 16 bits, -32768 to 32767; arithmetic wraps around."""

    __slots__ = ()


class Int32(Numeric):
    """A signed integer of 32 bits, -2**31 to 2**31 - 1; arithmetic wraps around. What a Python int becomes."""

    __slots__ = ()


class Int64(Numeric):
    """A signed integer of 64 bits, -2**63 to 2**63 - 1; arithmetic wraps around."""

    __slots__ = ()


class Int128(Numeric):
    """A signed integer of 128 bits, -2**127 to 2**127 - 1; arithmetic wraps around."""

    __slots__ = ()


class Uint8(Numeric):
    """An unsigned integer of 8 bits, 0 to 255; arithmetic wraps around."""

    __slots__ = ()


class Uint16(Numeric):
    """An unsigned integer of 16 bits, 0 to 65535; arithmetic wraps around."""

    __slots__ = ()


class Uint32(Numeric):
    """An unsigned integer of 32 bits, 0 to 2**32 - 1; arithmetic wraps around."""

    __slots__ = ()


class Uint64(Numeric):
    """An unsigned integer of 64 bits, 0 to 2**64 - 1; arithmetic wraps around."""

    __slots__ = ()


class Uint128(Numeric):
    """An unsigned integer of 128 bits, 0 to 2**128 - 1; arithmetic wraps around."""

    __slots__ = ()


class Float16(Numeric):
    """IEEE half precision: 11 significant bits, up to 65504."""

    __slots__ = ()


class BFloat16(Numeric):
    """The upper half of a Float32: 8 significant bits, up to about 3.4e38."""

    __slots__ = ()


class TFloat32(Numeric):
    """What tensor cores take of a Float32: 11 significant bits, stored in 32 bits."""

    __slots__ = ()


class Float32(Numeric):
    """IEEE single precision: 24 significant bits, up to about 3.4e38. What a Python float becomes."""

    __slots__ = ()


class Float64(Numeric):
    """IEEE double precision, Python's own float: 53 significant bits."""

    __slots__ = ()


class Float8E5M2(Numeric):
    """8 bits: 3 significant bits, up to 57344, with infinities."""

    __slots__ = ()


class Float8E4M3(Numeric):
    """8 bits: 4 significant bits, up to 240, with infinities."""

    __slots__ = ()


class Float8E4M3FN(Numeric):
    """8 bits: 4 significant bits, up to 448, no infinities."""

    __slots__ = ()


class Float8E4M3B11FNUZ(Numeric):
    """8 bits: 4 significant bits, up to 30, no infinities and one zero."""

    __slots__ = ()


class Float8E4M3FNUZ(Numeric):
    """8 bits: 4 significant bits, up to 240, no infinities and one zero: what the matrix cores of MI300 multiply."""

    __slots__ = ()


class Float8E5M2FNUZ(Numeric):
    """8 bits: 3 significant bits, up to 57344, no infinities and one zero: what the matrix cores of MI300 multiply."""

    __slots__ = ()


class Float8E8M0FNU(Numeric):
    """8 bits, a power of two from 2**-127 to 2**127: a scale of blocks of narrow floats."""

    __slots__ = ()


class Float6E3M2FN(Numeric):
    """6 bits: 3 significant bits, up to 28; neither infinities nor NaN."""

    __slots__ = ()


class Float6E2M3FN(Numeric):
    """6 bits: 4 significant bits, up to 7.5; neither infinities nor NaN."""

    __slots__ = ()


class Float4E2M1FN(Numeric):
    """4 bits: 2 significant bits, up to 6; neither infinities nor NaN."""

    __slots__ = ()


class Integer(ABC):  # noqa: B024 - the numeric classes are registered, they inherit nothing
    """Any integer type, for annotations and `isinstance`."""

    zero: ClassVar[int] = 0


class Float(ABC):  # noqa: B024
    """Any floating-point type, for annotations and `isinstance`."""

    zero: ClassVar[float] = 0.0


NUMERIC_CLASSES.update({cls.__name__: cls for cls in Numeric.__subclasses__()})
for _name, _class in NUMERIC_CLASSES.items():
    _class.__module__ = "triptych"  # where programs have it from: signatures and help name it so
    _class.info = TYPES[_name]
    _class.width = TYPES[_name].width
    _class.is_float = TYPES[_name].kind == "float"
    _class.signed = TYPES[_name].kind in ("int", "float") and _name != "Float8E8M0FNU"
    _class.is_integer = not _class.is_float  # as in Python, a truth value is an integer
    _class.zero = 0.0 if _class.is_float else 0
    _format = FLOAT_FORMATS.get(_class.info.mlir)
    if _class.is_float and (_format is None or _format.has_infinity):
        _class.inf, _class.neg_inf = math.inf, -math.inf
    (Float if _class.is_float else Integer).register(_class)


def dtype_named(name: str) -> type[Numeric]:
    """The numeric class of a name, as programs read it from a command line."""
    if name not in NUMERIC_CLASSES:
        raise ValueError(f"no numeric type is called {name!r}; there are {', '.join(NUMERIC_CLASSES)}")
    return NUMERIC_CLASSES[name]
