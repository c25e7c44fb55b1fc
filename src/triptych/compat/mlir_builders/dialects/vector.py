"""Builder calls of vectors in registers: `cutlass._mlir.dialects.vector`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triptych.compat.mlir_builders.values import known_integer, raw, wrapped
from triptych.cute.memory.vectors import extract as element_at
from triptych.cute.memory.vectors import extract_dynamic
from triptych.cute.tracing.device import tracing
from triptych.ir.handles import Type
from triptych.ir.types import element_type, type_text
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place

__all__ = ["bitcast", "extract", "extractelement", "from_elements", "insert", "insertelement"]


def __dir__() -> list[str]:
    return __all__


def bitcast(result: Type, source: object, **_: object) -> Any:
    """The same bits as a vector of other elements."""
    return wrapped(tracing().value("vector.bitcast", (raw(source),), type_text(result)))


def extract(source: object, dynamic_position: Sequence[Any], static_position: Sequence[int], **_: object) -> Any:
    """One element."""
    if dynamic_position or len(static_position) != 1:
        raise OperandTypeError(
            "an element of a vector is taken by one number that is known now",
            span=place(),
            found=f"extract(..., {list(dynamic_position)}, {list(static_position)})",
            expected="extract(vector, [], [number])",
            instead="`tensor[i]` of a tensor value",
        )
    vector = raw(source)
    element = type_text(element_type(vector.type))
    return wrapped(element_at(tracing(), vector, static_position[0], element))


def from_elements(dest: Type, elements: Sequence[Any], **_: object) -> Any:
    """A vector of numbers."""
    return wrapped(tracing().value("vector.from_elements", [raw(each) for each in elements], type_text(dest)))


def extractelement(vector: object, *, position: object, **_: object) -> Any:
    """One element, at a place that may be known at run time only."""
    given, at = raw(vector), known_integer(position)
    element = type_text(element_type(given.type))
    if at is None:
        return wrapped(extract_dynamic(tracing(), given, raw(position), element))
    return wrapped(element_at(tracing(), given, at, element))


def insert(
    source: object, dest: object, dynamic_position: Sequence[Any], static_position: Sequence[int], **_: object
) -> Any:
    """The vector with another element at one place."""
    if dynamic_position or len(static_position) != 1:
        raise _one_place(f"insert(..., {list(dynamic_position)}, {list(static_position)})")
    number, given, trace = raw(source), raw(dest), tracing()
    at = {"static_position": trace.builder.integers(static_position)}
    return wrapped(trace.value("vector.insert", (number, given), type_text(given.type), at))


def insertelement(source: object, dest: object, *, position: object, **_: object) -> Any:
    """The vector with another element at one place."""
    at = known_integer(position)
    if at is None:
        raise _one_place("insertelement(..., position=a run-time number)")
    return insert(source, dest, [], [at])


def _one_place(found: str) -> OperandTypeError:
    return OperandTypeError(
        "a vector gets an element at one place that is known now",
        span=place(),
        found=found,
        expected="insert(number, vector, [], [number])",
        instead="a tensor in registers, `tensor[i] = x`",
    )
