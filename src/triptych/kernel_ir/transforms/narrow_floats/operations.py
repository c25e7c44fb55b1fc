"""Narrow float rules: what each operation becomes, by name, for the pass `expand-narrow-floats`, unless the machine
does it itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from triptych.ir.builder import Builder
from triptych.ir.errors import LoweringError
from triptych.ir.expressions import Expression, bit_width, element_and_lanes, select, vector_type
from triptych.ir.handles import Operation, Type, Value
from triptych.ir.location import place_of
from triptych.ir.types import element_type, is_float, word_of
from triptych.kernel_ir.transforms.narrow_floats.rounding import narrow, pack, round_to_odd, sum_to_odd, unpack, widen
from triptych.kernel_ir.transforms.narrow_floats.storage import storage, stored_constant
from triptych.support.dataclass import dataclass
from triptych.support.float_formats import SATURATE, FloatFormat


class FloatMachine:
    """A machine that computes in 32 bits and more, and converts by formulas."""

    name = "this machine"
    """As errors call it."""

    def does(self, operation: Operation, formats: frozenset[str]) -> bool:
        """Whether an operation on 16-bit floats, and on no narrower ones, can stay as it is."""
        del operation, formats
        return False

    def widen(self, value: Expression, form: FloatFormat, wide: str = "f32") -> Expression:
        """A stored narrow float as the same number in `wide`, Float32 or Float64."""
        return widen(value, form).convert("extf", wide)

    def narrow(self, value: Expression, form: FloatFormat, *, saturate: bool = False) -> Expression:
        """A Float32 or Float64 as the nearest stored narrow float; `saturate` keeps what is too large finite."""
        single = round_to_odd(value) if value.element == "f64" else value
        return self.narrow_single(single, form, saturate)

    def narrow_single(self, value: Expression, form: FloatFormat, saturate: bool) -> Expression:
        """The same for a Float32."""
        return narrow(value, form, saturate=saturate)


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

    operation: Operation
    machine: FloatMachine
    builder: Builder
    operands: tuple[Kind | None, ...]
    results: tuple[Kind | None, ...]

    @staticmethod
    def of(
        operation: Operation, machine: FloatMachine, builder: Builder, kind_of: Callable[[Type], Kind | None]
    ) -> Task:
        return Task(
            operation,
            machine,
            builder,
            tuple(kind_of(value.type) for value in operation.operands),
            tuple(kind_of(value.type) for value in operation.results),
        )

    @property
    def result(self) -> Kind:
        """The kind of the only result."""
        (kind,) = self.results
        assert kind is not None, "the result is a narrow float"
        return kind

    @property
    def saturates(self) -> bool:
        return SATURATE in self.operation.attributes

    def operand(self, index: int) -> Expression:
        """An operand as an expression."""
        value, kind = self.operation.operands[index], self.operands[index]
        if kind is not None:
            return Expression(self.builder, value, storage(kind.form), kind.lanes)
        return Expression(self.builder, value, *element_and_lanes(value.type))

    def wide(self, index: int, element: str) -> Expression:
        """A float operand in Float32 or Float64."""
        kind = self.operands[index]
        value = self.operand(index)
        return value.convert("extf", element) if kind is None else self.machine.widen(value, kind.form, element)

    def rounded(self, value: Expression, form: FloatFormat) -> Value:
        """What stores a Float32 or Float64 in a format, as the operation says that it is rounded."""
        return self.machine.narrow(value, form, saturate=self.saturates).value


def expand(task: Task) -> None:
    """Replace the operation."""
    operation = task.operation
    rule = RULES.get(operation.name, _compute_wide if operation.name.startswith(("arith.", "math.")) else _refuse)
    for result, value in zip(list(operation.results), rule(task), strict=True):
        result.replace_all_uses_with(value)
    operation.erase()


def _constant(task: Task) -> Sequence[Value]:
    kind, builder = task.result, task.builder
    element = storage(kind.form)
    attribute = stored_constant(builder, task.operation.attributes["value"], kind.form, element, kind.lanes)
    return [builder.value("arith.constant", (), vector_type(element, kind.lanes), {"value": attribute})]


def _float_to_float(task: Task) -> Sequence[Value]:
    """Widen as far as needed, then round. `extf` may round too: no small format holds all others of its width."""
    source, target = task.operands[0], task.results[0]
    value = task.operand(0)
    if target is None:
        return [task.wide(0, "f64" if _is_double(task.operation.results[0]) else "f32").value]
    wide = value if source is None else task.machine.widen(value, source.form)
    _refuse_other_rounding(task)
    return [task.rounded(wide, target.form)]


def _is_double(value: Value) -> bool:
    return is_float(element_type(value.type), 64)


def _refuse_other_rounding(task: Task) -> None:
    attributes = task.operation.attributes
    mode = str(attributes["roundingmode"]) if "roundingmode" in attributes else ""
    if mode and mode != "#arith.rounding_mode<to_nearest_even>":
        raise LoweringError(
            f"a conversion to a narrow float rounds in a way that {task.machine.name} does not have",
            span=place_of(task.operation),
            found=mode,
            expected="rounding to the nearest, ties to even",
        )


def _integer_to_float(task: Task) -> Sequence[Value]:
    value, kind = task.operand(0), task.result
    conversion = task.operation.name.removeprefix("arith.")
    width = int(value.element[1:])
    if width < _EXACT_BITS["f32"]:
        return [task.rounded(value.convert(conversion, "f32"), kind.form)]
    if width > _EXACT_BITS["f64"]:
        value = _sticky(value, width, signed=conversion == "sitofp")
    return [task.rounded(value.convert(conversion, "f64"), kind.form)]


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


def _bitcast(task: Task) -> Sequence[Value]:
    """Stored patterns are integers already; formats below 8 bits leave the upper bits of a byte zero."""
    value = task.operand(0)
    target = task.results[0]
    if target is not None and target.form.width < 8:
        return [value.convert("extui", "i8").value]
    source = task.operands[0]
    if source is not None and source.form.width < 8:
        return [value.convert("trunci", f"i{source.form.width}").value]
    return [value.value]


def _vector_bitcast(task: Task) -> Sequence[Value]:
    """By way of bytes where elements, floats or integers, are smaller than bytes."""
    value, source, target = task.operand(0), task.operands[0], task.results[0]
    element, lanes = element_and_lanes(task.operation.results[0].type)
    assert lanes is not None, "the result of a bitcast of elements is a vector"
    old = value.width if source is None else source.form.width
    new = bit_width(element) if target is None else target.form.width
    if old < 8:
        value = pack(value.convert("extui", "i8"), old)
    if new < 8:
        return [unpack(value.recast("i8", lanes * new // 8), new).convert("trunci", element).value]
    return [value.recast(element, lanes).value]


def _fma(task: Task) -> Sequence[Value]:
    """Products of narrow floats are exact in Float64; the sum may not be, so it keeps the fact that it was rounded."""
    left, right, added = (task.wide(i, "f64") for i in range(3))
    return [task.rounded(sum_to_odd(left * right, added), task.result.form)]


def _compute_wide(task: Task) -> Sequence[Value]:
    """The same operation on wide operands, its float results rounded."""
    operation, builder = task.operation, task.builder
    kinds = [kind for kind in (*task.operands, *task.results) if kind is not None]
    wide = _wide_enough(kinds)
    operands = [
        operation.operands[i] if kind is None else task.wide(i, wide).value for i, kind in enumerate(task.operands)
    ]
    types = [
        result.type if kind is None else builder.type(vector_type(wide, kind.lanes))
        for result, kind in zip(operation.results, task.results, strict=True)
    ]
    attributes = {name: operation.attributes[name] for name in operation.attributes}
    computed = builder.operation(operation.name, operands, types, attributes)
    return [
        result if kind is None else task.rounded(Expression(builder, result, wide, kind.lanes), kind.form)
        for result, kind in zip(computed.results, task.results, strict=True)
    ]


def _wide_enough(kinds: Sequence[Kind]) -> str:
    return "f64" if any(kind.form.mlir == "tf32" for kind in kinds) else "f32"


def _reduction(task: Task) -> Sequence[Value]:
    """From the first element to the last, after the accumulator if there is one, each step rounded."""
    builder, kind = task.builder, task.operands[0]
    assert kind is not None, "the operand is a vector of narrow floats"
    combine = _REDUCTIONS.get(word_of(task.operation.attributes["kind"]))
    if combine is None:
        return _refuse(task)
    element, wide = storage(kind.form), _wide_enough([kind])
    total, *rest = [
        *(Expression(builder, start, element) for start in task.operation.operands[1:]),
        *task.operand(0).each(),
    ]
    for part in rest:
        left, right = (task.machine.widen(operand, kind.form, wide) for operand in (total, part))
        total = task.machine.narrow(left.emit(combine, left, right), kind.form)
    return [total.value]


def _refuse(task: Task) -> Sequence[Value]:
    names = ", ".join(sorted({kind.form.mlir for kind in (*task.operands, *task.results) if kind is not None}))
    raise LoweringError(
        f"{task.machine.name} has no {task.operation.name} for {names}",
        span=place_of(task.operation),
        instead="convert to Float32 first",
    )


_REDUCTIONS = {
    name: f"arith.{operation}"
    for name, operation in (
        ("add", "addf"),
        ("mul", "mulf"),
        ("maximumf", "maximumf"),
        ("minimumf", "minimumf"),
        ("maxnumf", "maxnumf"),
        ("minnumf", "minnumf"),
    )
}

RULES: Mapping[str, Callable[[Task], Sequence[Value]]] = {
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
