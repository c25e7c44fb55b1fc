"""The numeric classes, one for each row of the promotion table."""

from __future__ import annotations

import math
from abc import ABC

from triptych.metastage.numeric import NUMERIC_CLASSES, Numeric, as_number, lift, numeric_class
from triptych.metastage.promotion import TYPES
from triptych.support.float_formats import FLOAT_FORMATS

__all__ = ["NUMERIC_CLASSES", "Numeric", "as_number", "dtype_named", "lift", "numeric_class"]


class Boolean(Numeric):
    """True or false."""

    __slots__ = ()


class Int4(Numeric):
    __slots__ = ()


class Int8(Numeric):
    __slots__ = ()


class Int16(Numeric):
    __slots__ = ()


class Int32(Numeric):
    __slots__ = ()


class Int64(Numeric):
    __slots__ = ()


class Int128(Numeric):
    __slots__ = ()


class Uint8(Numeric):
    __slots__ = ()


class Uint16(Numeric):
    __slots__ = ()


class Uint32(Numeric):
    __slots__ = ()


class Uint64(Numeric):
    __slots__ = ()


class Uint128(Numeric):
    __slots__ = ()


class Float16(Numeric):
    __slots__ = ()


class BFloat16(Numeric):
    __slots__ = ()


class TFloat32(Numeric):
    __slots__ = ()


class Float32(Numeric):
    __slots__ = ()


class Float64(Numeric):
    __slots__ = ()


class Float8E5M2(Numeric):
    __slots__ = ()


class Float8E4M3(Numeric):
    __slots__ = ()


class Float8E4M3FN(Numeric):
    __slots__ = ()


class Float8E4M3B11FNUZ(Numeric):
    __slots__ = ()


class Float8E8M0FNU(Numeric):
    __slots__ = ()


class Float6E3M2FN(Numeric):
    __slots__ = ()


class Float6E2M3FN(Numeric):
    __slots__ = ()


class Float4E2M1FN(Numeric):
    __slots__ = ()


class Integer(ABC):  # noqa: B024 - the numeric classes are registered, they inherit nothing
    """Any integer type, for annotations and `isinstance`."""


class Float(ABC):  # noqa: B024
    """Any floating-point type, for annotations and `isinstance`."""


NUMERIC_CLASSES.update({cls.__name__: cls for cls in Numeric.__subclasses__()})
for _name, _class in NUMERIC_CLASSES.items():
    _class.info = TYPES[_name]
    _class.width = TYPES[_name].width
    _class.is_float = TYPES[_name].kind == "float"
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
