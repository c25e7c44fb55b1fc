"""Inline PTX inside a kernel: as it is for machines that read it, by lowerings of its instructions for others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triptych.cute.memory.pointers import Pointer
from triptych.cute.memory.shared_window import shared_address
from triptych.cute.tracing.device import device_function, device_trace, number
from triptych.frontends.ptx.code import Code
from triptych.frontends.ptx.constraints import CONSTANTS, REGISTERS, Constraints, read_constraints
from triptych.frontends.ptx.interpretation import interpret
from triptych.frontends.ptx.kinds import FLOATS, bits_of, mlir_of
from triptych.ir.handles import Type, Value
from triptych.ir.types import SHARED_SPACE, is_float, is_integer, is_pointer, type_text
from triptych.kernel_ir.dialects.kernel_operations import defining_op
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import Trace, place
from triptych.metastage.values.scalars import Numeric, numeric_class

ASSEMBLY = "ptx"


@device_function
def inline_ptx(
    text: str,
    constraints: str,
    operands: Sequence[Numeric | Pointer | int | float],
    results: type[Numeric] | tuple[type[Numeric], ...] | None = None,
    *,
    side_effects: bool = True,
) -> Any:
    """PTX among the operations of a kernel. `$0`, `$1` … in the text are the results and then the operands.

    Constraints name the registers in that order: `=r` for a result of 32 bits, `r` for such an operand, `l` for 64
    bits, `h` for 16, `f` and `d` for floats, `b` for a predicate, `n` for a constant. Without `side_effects` a text
    whose results nobody uses may be left out.
    """
    kinds = () if results is None else results if isinstance(results, tuple) else (results,)
    types = [numeric_class(kind) for kind in kinds]
    trace = device_trace()
    values = [
        operand.ir_value() if isinstance(operand, Pointer) else number(operand).ir_value() for operand in operands
    ]
    wanted = [trace.builder.type(dtype.info.mlir) for dtype in types]
    found = emit_inline(trace, text, constraints, values, wanted, side_effects)
    numbers = tuple(dtype.of(value, trace.region) for dtype, value in zip(types, found, strict=True))
    return numbers if isinstance(results, tuple) else numbers[0] if numbers else None


def emit_inline(
    trace: Trace, text: str, constraints: str, operands: Sequence[Value], results: Sequence[Type], side_effects: bool
) -> list[Value]:
    """The results of inline PTX as MLIR values of the wanted types."""
    read = read_constraints(constraints, results, [operand.type for operand in operands])
    code = Code(trace)
    given = [_bits(code, operand, read.letter(place_)) for place_, operand in enumerate(operands)]
    if trace.device_model.assembly == ASSEMBLY:
        found = _as_it_is(code, text, constraints, (read, given), side_effects)
    else:
        found = interpret(trace, text, read, given)
    return [_wanted(code, value, kind) for value, kind in zip(found, results, strict=True)]


def _bits(code: Code, operand: Value, letter: str) -> Value:
    """An operand as the bits of its register; a truth value is 0 or 1."""
    kind = operand.type
    if letter in CONSTANTS:
        made_by = defining_op(operand)
        if made_by is None or made_by.name != "arith.constant":
            raise OperandTypeError(
                "a constant of inline PTX is known only at run time",
                span=place(),
                found=f"a run-time value with the constraint {letter!r}",
                expected="a number that is known now",
                instead="the constraint 'r', or a Constexpr argument",
            )
        return operand
    width = int(bits_of(REGISTERS[letter])[1:])
    if is_pointer(kind):
        if kind.address_space == SHARED_SPACE:
            return code.resized(shared_address(code.trace, operand), width)
        return code.value("llvm.ptrtoint", (operand,), "i64")
    if is_float(kind):
        return code.value("arith.bitcast", (operand,), f"i{kind.width}")
    return code.resized(operand, width)


def _wanted(code: Code, bits: Value, kind: Type) -> Value:
    """The bits of a result as the type that it is to have."""
    if is_pointer(kind):
        return code.value("llvm.inttoptr", (code.resized(bits, 64),), type_text(kind))
    if is_float(kind):
        return code.value("arith.bitcast", (bits,), type_text(kind))
    assert is_integer(kind)
    return code.resized(bits, kind.width)


def _as_it_is(
    code: Code, text: str, constraints: str, read: tuple[Constraints, Sequence[Value]], side_effects: bool
) -> list[Value]:
    """One `llvm.inline_asm`; several results come as a struct."""
    letters, given = read
    operands = [
        operand if letters.inputs[i] in CONSTANTS else _in_register(code, operand, letters.letter(i))
        for i, operand in enumerate(given)
    ]
    builder = code.trace.builder
    attributes = {"asm_string": builder.string(text), "constraints": builder.string(constraints)}
    if side_effects:
        attributes["has_side_effects"] = builder.attribute("unit")
    kinds = [mlir_of(REGISTERS[letter]) for letter in letters.outputs]
    if not kinds:
        code.effect("llvm.inline_asm", operands, attributes)
        return []
    result = kinds[0] if len(kinds) == 1 else f"!llvm.struct<({', '.join(kinds)})>"
    made = code.value("llvm.inline_asm", operands, result, attributes)
    if len(kinds) == 1:
        found = [made]
    else:
        found = [code.value("llvm.extractvalue", (made,), kind, code.position(i)) for i, kind in enumerate(kinds)]
    return [code.bits(value, REGISTERS[letter]) for value, letter in zip(found, letters.outputs, strict=True)]


def _in_register(code: Code, bits: Value, letter: str) -> Value:
    kind = REGISTERS[letter]
    return code.from_bits(bits, kind) if kind in FLOATS else bits
