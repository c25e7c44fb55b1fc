"""What each operation on narrow floats becomes: rules by name, used by the pass `expand-narrow-floats`.

Input: an operation whose values already have the types that store narrow floats, and the formats they had before.
Output: operations before it whose results take its place. Arithmetic widens, computes once and rounds once. Float32
is wide enough for that: a sum, product, quotient or root that Float32 rounds to more than twice as many bits rounds on
to the right number. TF32 needs Float64, because it shares Float32's range and so its subnormal numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from triptych.ir.builder import Builder
from triptych.ir.errors import LoweringError
from triptych.ir.location import place_of
from triptych.support.float_formats import SATURATE, FloatFormat
from triptych.targets.cpu.expressions import Expression, Place, bit_width, element_and_lanes, select
from triptych.targets.cpu.float_constants import stored_constant
from triptych.targets.cpu.float_rounding import narrow, storage, sum_to_odd, widen
from triptych.targets.cpu.packed_bits import pack, unpack

_EXACT_BITS = {"f32": 24, "f64": 53}
_RUNG = 38


@dataclass(frozen=True, slots=True)
class Kind:
    """The type of a value that is, or consists of, floats of a format."""

    form: FloatFormat
    lanes: int | None


@dataclass(frozen=True, slots=True)
class Task:
    """An operation to replace, where, and the kinds that its values had before they were stored."""

    operation: Any
    place: Place
    operands: tuple[Kind | None, ...]
    results: tuple[Kind | None, ...]

    @staticmethod
    def of(operation: Any, builder: Builder, kind_of: Callable[[Any], Kind | None]) -> Task:
        return Task(
            operation,
            Place(builder, operation.location),
            tuple(kind_of(value.type) for value in operation.operands),
            tuple(kind_of(value.type) for value in operation.results),
        )

    @property
    def result(self) -> Kind:
        """The kind of the only result."""
        (kind,) = self.results
        assert kind is not None
        return kind

    @property
    def saturates(self) -> bool:
        return SATURATE in self.operation.attributes

    def operand(self, index: int) -> Expression:
        """An operand as an expression."""
        value, kind = self.operation.operands[index], self.operands[index]
        if kind is not None:
            return Expression(self.place, value, storage(kind.form), kind.lanes)
        return Expression(self.place, value, *element_and_lanes(str(value.type)))

    def wide(self, index: int, element: str) -> Expression:
        """A float operand in Float32 or Float64."""
        kind = self.operands[index]
        value = self.operand(index)
        return value.convert("extf", element) if kind is None else widen(value, kind.form, element)


def expand(task: Task) -> None:
    """Replace the operation."""
    operation = task.operation
    rule = RULES.get(operation.name, _compute_wide if operation.name.startswith(("arith.", "math.")) else _refuse)
    for result, value in zip(list(operation.results), rule(task), strict=True):
        result.replace_all_uses_with(value)
    operation.erase()


def _constant(task: Task) -> Sequence[Any]:
    kind, builder = task.result, task.place.builder
    element = storage(kind.form)
    attribute = stored_constant(builder, task.operation.attributes["value"], kind.form, element, kind.lanes)
    type_ = task.place.type(element, kind.lanes)
    return [builder.value("arith.constant", (), type_, task.place.location, {"value": attribute})]


def _float_to_float(task: Task) -> Sequence[Any]:
    """Widen as far as needed, then round. `extf` may round too: no small format holds all others of its width."""
    source, target = task.operands[0], task.results[0]
    value = task.operand(0)
    if target is None:
        return [task.wide(0, "f64" if _is_double(task.operation.results[0]) else "f32").value]
    wide = value if source is None else widen(value, source.form)
    _refuse_other_rounding(task)
    return [narrow(wide, target.form, saturate=task.saturates).value]


def _is_double(value: Any) -> bool:
    return element_and_lanes(str(value.type))[0] == "f64"


def _refuse_other_rounding(task: Task) -> None:
    mode = task.operation.attributes.get("roundingmode", None)
    if mode is not None and str(mode) != "#arith.rounding_mode<to_nearest_even>":
        raise LoweringError(
            "a conversion to a narrow float rounds in a way that the CPU does not have",
            span=place_of(task.operation),
            found=str(mode),
            expected="rounding to the nearest, ties to even",
        )


def _integer_to_float(task: Task) -> Sequence[Any]:
    value, kind = task.operand(0), task.result
    conversion = task.operation.name.removeprefix("arith.")
    width = int(value.element[1:])
    if width < _EXACT_BITS["f32"]:
        return [narrow(value.convert(conversion, "f32"), kind.form, saturate=task.saturates).value]
    if width > _EXACT_BITS["f64"]:
        value = _sticky(value, width, signed=conversion == "sitofp")
    return [narrow(value.convert(conversion, "f64"), kind.form, saturate=task.saturates).value]


def _sticky(value: Expression, width: int, *, signed: bool) -> Expression:
    """An integer that Float64 holds and that rounds to the same narrow float: large ones trade low bits for one bit.

    The bits that Float64 has no room for decide only whether a number lies between two others. Each rung has room for
    numbers up to `_RUNG` bits longer than those before, and keeps 15 bits of them: no narrow float has more than 11.
    """
    result = value
    for reach in range(_EXACT_BITS["f64"], width, _RUNG):
        spare = reach + _RUNG - _EXACT_BITS["f64"] + 1
        low = value & ((1 << spare) - 1)
        bit = select(low.equals(0), 0, value.filled(1 << (spare - 1)))
        above = value.shifted_right_signed(reach - 1) if signed else value >> reach
        small = above.equals(0) | above.equals(-1) if signed else above.equals(0)
        result = select(small, result, (value & -(1 << spare)) | bit)
    return result


def _bitcast(task: Task) -> Sequence[Any]:
    """Stored patterns are integers already; formats below 8 bits leave the upper bits of a byte zero."""
    value = task.operand(0)
    target = task.results[0]
    if target is not None and target.form.width < 8:
        return [value.convert("extui", "i8").value]
    source = task.operands[0]
    if source is not None and source.form.width < 8:
        return [value.convert("trunci", f"i{source.form.width}").value]
    return [value.value]


def _vector_bitcast(task: Task) -> Sequence[Any]:
    """By way of bytes where elements, floats or integers, are smaller than bytes."""
    value, source, target = task.operand(0), task.operands[0], task.results[0]
    element, lanes = element_and_lanes(str(task.operation.results[0].type))
    assert lanes is not None
    old = value.width if source is None else source.form.width
    new = bit_width(element) if target is None else target.form.width
    if old < 8:
        value = pack(value.convert("extui", "i8"), old)
    if new < 8:
        return [unpack(value.recast("i8", lanes * new // 8), new).convert("trunci", element).value]
    return [value.recast(element, lanes).value]


def _fma(task: Task) -> Sequence[Any]:
    """Products of narrow floats are exact in Float64; the sum may not be, so it keeps the fact that it was rounded."""
    left, right, added = (task.wide(i, "f64") for i in range(3))
    return [narrow(sum_to_odd(left * right, added), task.result.form).value]


def _compute_wide(task: Task) -> Sequence[Any]:
    """The same operation on wide operands, its float results rounded."""
    operation, place = task.operation, task.place
    kinds = [kind for kind in (*task.operands, *task.results) if kind is not None]
    wide = "f64" if any(kind.form.mlir == "tf32" for kind in kinds) else "f32"
    operands = [
        operation.operands[i] if kind is None else task.wide(i, wide).value for i, kind in enumerate(task.operands)
    ]
    types = [
        result.type if kind is None else place.type(wide, kind.lanes)
        for result, kind in zip(operation.results, task.results, strict=True)
    ]
    attributes = {name: operation.attributes[name] for name in operation.attributes}
    computed = place.builder.operation(operation.name, operands, types, place.location, attributes)
    return [
        result if kind is None else narrow(Expression(place, result, wide, kind.lanes), kind.form).value
        for result, kind in zip(computed.results, task.results, strict=True)
    ]


def _reduction(task: Task) -> Sequence[Any]:
    """From the first element to the last, after the accumulator if there is one, each step rounded."""
    place, builder, kind = task.place, task.place.builder, task.operands[0]
    assert kind is not None
    assert kind.lanes is not None
    combine = _REDUCTIONS.get(str(task.operation.attributes["kind"]))
    if combine is None:
        return _refuse(task)
    element, vector = storage(kind.form), task.operation.operands[0]
    parts = [
        builder.value(
            "vector.extract",
            (vector,),
            place.type(element, None),
            place.location,
            {"static_position": builder.attribute(f"array<i64: {i}>")},
        )
        for i in range(kind.lanes)
    ]
    total, *rest = [
        widen(Expression(place, part, element), kind.form) for part in (*task.operation.operands[1:], *parts)
    ]
    for part in rest:
        value = builder.value(combine, (total.value, part.value), place.type("f32", None), place.location)
        total = widen(narrow(Expression(place, value, "f32"), kind.form), kind.form)
    return [narrow(total, kind.form).value]


def _refuse(task: Task) -> Sequence[Any]:
    names = ", ".join(sorted({kind.form.mlir for kind in (*task.operands, *task.results) if kind is not None}))
    raise LoweringError(
        f"the CPU has no {task.operation.name} for {names}",
        span=place_of(task.operation),
        instead="convert to Float32 first",
    )


_REDUCTIONS = {
    f"#vector.kind<{name}>": f"arith.{operation}"
    for name, operation in (
        ("add", "addf"),
        ("mul", "mulf"),
        ("maximumf", "maximumf"),
        ("minimumf", "minimumf"),
        ("maxnumf", "maxnumf"),
        ("minnumf", "minnumf"),
    )
}

RULES: Mapping[str, Callable[[Task], Sequence[Any]]] = {
    "arith.constant": _constant,
    "arith.extf": _float_to_float,
    "arith.truncf": _float_to_float,
    "arith.sitofp": _integer_to_float,
    "arith.uitofp": _integer_to_float,
    "arith.bitcast": _bitcast,
    "vector.bitcast": _vector_bitcast,
    "math.fma": _fma,
    "vector.fma": _fma,
    "vector.reduction": _reduction,
}
"""Operations that are not simply done in Float32."""
