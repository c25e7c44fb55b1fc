"""Narrow float storage: the types that stand for them in memory, in registers and between functions, and their
constants.
"""

from __future__ import annotations

import re

from triptych.ir.builder import Builder
from triptych.ir.expressions import element_and_lanes, vector_type
from triptych.ir.handles import Attribute, Type
from triptych.ir.types import TypeOrText
from triptych.support.float_formats import FLOAT_FORMATS, FloatFormat


def storage(form: FloatFormat) -> str:
    """The element type that holds a narrow float: 8 bits or fewer as an integer, TF32 as a Float32 that is one."""
    return form.mlir if form.width == 16 else "f32" if form.mlir == "tf32" else "i8"


def stored_type(type_: Type) -> TypeOrText:
    """The type that stands for any type, itself where that is no narrow float nor a vector of them."""
    element, lanes = element_and_lanes(type_)
    form = FLOAT_FORMATS.get(element)
    return type_ if form is None else vector_type(storage(form), lanes)


_DENSE = re.compile(r"dense<(.*)> : vector<", re.DOTALL)
_NUMBER = re.compile(r"0x[0-9A-Fa-f]+|[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?")


def stored_constant(
    builder: Builder, attribute: Attribute, form: FloatFormat, element: str, lanes: int | None
) -> Attribute:
    """The attribute that stores what `attribute`, a scalar or a vector of `form`, means."""
    if lanes is None:
        return _stored(builder, _pattern(str(attribute), form), form, element)
    found = _DENSE.match(str(attribute))
    assert found is not None, attribute
    patterns = _patterns(found[1], form)
    vector = builder.type(f"vector<{lanes}x{element}>")
    if len(patterns) == 1:
        return builder.splat(vector, _stored(builder, patterns[0], form, element))
    return builder.dense_attribute(vector, [_stored(builder, pattern, form, element) for pattern in patterns])


def _stored(builder: Builder, pattern: int, form: FloatFormat, element: str) -> Attribute:
    if element.startswith("i"):
        return builder.integer(element, pattern)
    return builder.float(element, form.decode(pattern))


def _patterns(text: str, form: FloatFormat) -> list[int]:
    """Long constants are one string of bytes, in which every element begins at a byte."""
    if text.startswith('"0x'):
        data, size = bytes.fromhex(text[3:-1]), (form.width + 7) // 8
        return [int.from_bytes(data[at : at + size], "little") for at in range(0, len(data), size)]
    return [_pattern(number, form) for number in _NUMBER.findall(text)]


def _pattern(text: str, form: FloatFormat) -> int:
    """A number as MLIR writes it: decimal when that names it uniquely, its bits in hexadecimal otherwise."""
    number = text.partition(" ")[0]
    return int(number, 16) if number.startswith("0x") else form.encode(float(number))
