"""Narrow float storage: the types that stand for them in memory, in registers and between functions."""

from __future__ import annotations

from triptych.ir.expressions import element_and_lanes, vector_type
from triptych.ir.handles import Type
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
