"""Inline PTX inside a kernel: as it is for machines that read it, by lowerings of its instructions for others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from triptych.cute.arch.atomics import is_address
from triptych.cute.memory.pointers import Pointer
from triptych.cute.memory.shared_window import shared_address
from triptych.cute.tracing.device import Integer, bits32, device_function, device_trace, number
from triptych.frontends.ptx.code import ADDRESS, FLOATS, WIDTHS, Code, Lowering, bits_of, mlir_of, width_of
from triptych.frontends.ptx.lowerings import meaning
from triptych.frontends.ptx.registers import Registers, refused
from triptych.frontends.ptx.statements import (
    Declaration,
    Instruction,
    MalformedPtxError,
    Scope,
    Statement,
    listed,
    statements,
)
from triptych.ir.handles import Type, Value
from triptych.ir.types import SHARED_SPACE, int_width, is_float, is_integer, is_pointer, type_text
from triptych.kernel_ir.dialects.kernel_operations import defining_op
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import Trace, place
from triptych.metastage.values.scalars import Int32, Numeric, Uint32, numeric_class
from triptych.support.dataclass import dataclass

REGISTERS = {"b": "pred", "h": "b16", "r": "b32", "l": "b64", "f": "f32", "d": "f64"}
"""The kind of register of each letter."""
CONSTANTS = ("n", "i")
"""Letters of numbers that are known now, and are written into the text."""
_WIDTHS = {"b": 1, "h": 16, "r": 32, "l": 64, "f": 32, "d": 64}
_OUTPUT = re.compile(r"=&?([bhrlfd])")
_INPUT = re.compile(r"[bhrlfdni]|\d+")
_CLOBBER = re.compile(r"~\{\w+\}")


@dataclass(frozen=True, slots=True)
class Constraints:
    """A letter for each result, and for each operand a letter or the number of the result that it shares."""

    outputs: tuple[str, ...]
    inputs: tuple[str, ...]

    def letter(self, place: int) -> str:
        """The letter of an operand's register."""
        given = self.inputs[place]
        return self.outputs[int(given)] if given.isdigit() else given


def read_constraints(text: str, results: Sequence[Type], operands: Sequence[Type]) -> Constraints:
    """The constraints of a text, if they fit the types; an error at the user's line if not."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    outputs = [part for part in parts if part.startswith("=")]
    clobbers = [part for part in parts if part.startswith("~")]
    inputs = [part for part in parts if part not in outputs and part not in clobbers]
    for form, given in ((_OUTPUT, outputs), (_INPUT, inputs), (_CLOBBER, clobbers)):
        for part in given:
            if form.fullmatch(part) is None:
                letters = ", ".join(f"{letter} ({kind})" for letter, kind in REGISTERS.items())
                raise _refused(f"{part!r} in {text!r}", f"`=` and a letter, or a letter: {letters}, n or i (constant)")
    if (len(outputs), len(inputs)) != (len(results), len(operands)) or parts != [*outputs, *inputs, *clobbers]:
        raise _refused(
            f"{len(outputs)} outputs and {len(inputs)} inputs in {text!r}",
            f"{len(results)} outputs and {len(operands)} inputs, in this order",
        )
    found = Constraints(tuple(part.lstrip("=&") for part in outputs), tuple(inputs))
    for part in inputs:
        if part.isdigit() and int(part) >= len(outputs):
            raise _refused(f"{part!r} in {text!r}", f"the number of one of the {len(outputs)} outputs")
    for place_, kind in enumerate(results):
        _check(f"result {place_}", kind, found.outputs[place_])
    for place_, kind in enumerate(operands):
        _check(f"operand {place_}", kind, found.letter(place_))
    return found


def _check(what: str, kind: Type, letter: str) -> None:
    width = _width(kind)
    if letter in CONSTANTS:
        if int_width(kind) is None:
            raise _refused(f"{what} is {type_text(kind)}, in {letter!r}", "an integer that is known now")
        return
    is_truth = width == 1 and letter in "hrl"
    if width != _WIDTHS[letter] and not is_truth:
        wanted = next((name for name in _preferred(kind) if _WIDTHS[name] == width), "")
        raise _refused(
            f"{what} is {type_text(kind)}, in a register {letter!r} of {_WIDTHS[letter]} bits",
            f"a number of {_WIDTHS[letter]} bits" + (f", or the letter {wanted!r}" if wanted else ""),
        )


def _preferred(kind: Type) -> str:
    return "fdh" if is_float(kind) else "rlhb"


def _width(kind: Type) -> int:
    """The bits of a number or a pointer; 0 for what no register holds."""
    if is_pointer(kind):
        return 32 if kind.address_space == 3 else 64
    if is_float(kind):
        return kind.width
    return int_width(kind) or 0


def _refused(found: str, expected: str) -> OperandTypeError:
    return OperandTypeError("the constraints of inline PTX do not fit", span=place(), found=found, expected=expected)


# Inline PTX, text -> operations: follows the statements once, on machines that do not read PTX.

_SINK = "_"


def interpret(trace: Trace, text: str, constraints: Constraints, operands: Sequence[Value]) -> list[Value]:
    """The bits of the results of a text, given those of its operands."""
    code = Code(trace)
    registers = Registers(code)
    outputs = constraints.outputs
    tied = {int(given): operand for given, operand in zip(constraints.inputs, operands, strict=True) if given.isdigit()}
    for position, letter in enumerate(outputs):
        registers.declare(f"${position}", REGISTERS[letter], tied.get(position))
    for position, operand in enumerate(operands):
        letter = constraints.letter(position)
        kind = f"b{width_of(operand)}" if letter in CONSTANTS else REGISTERS[letter]
        registers.declare(f"${len(outputs) + position}", kind, operand)
    for statement in _read(text):
        _follow(code, registers, statement)
    return [_result(registers, position) for position in range(len(outputs))]


def _read(text: str) -> list[Statement]:
    try:
        return statements(text)
    except MalformedPtxError as wrong:
        raise refused(str(wrong), "statements of PTX, each with `;` at its end") from None


def _result(registers: Registers, place: int) -> Value:
    found = registers.current(f"${place}")
    if found is None:
        raise refused(f"nothing is written to the result `${place}`", "an instruction that writes it")
    return found


def _follow(code: Code, registers: Registers, statement: Statement) -> None:
    if isinstance(statement, Scope):
        if statement.opens:
            registers.enter()
        else:
            registers.leave()
    elif isinstance(statement, Declaration):
        for name in statement.names:
            registers.declare(name, statement.kind)
    else:
        _execute(code, registers, statement)


def _execute(code: Code, registers: Registers, instruction: Instruction) -> None:
    means = meaning(instruction)
    targets, sources = _operands(instruction, means)
    if not instruction.guard:
        _write(registers, targets, _computed(code, registers, instruction, means, targets, sources))
        return
    guard = registers.read_bits(("!" if instruction.negated else "") + instruction.guard, "pred")
    if means.effect:
        _write(registers, targets, _branch(code, registers, instruction, means, (guard, targets, sources)))
        return
    found = _computed(code, registers, instruction, means, targets, sources)
    kept = [registers.current(name) for name in targets]
    chosen = [new if old is None else code.select(guard, new, old) for new, old in zip(found, kept, strict=True)]
    _write(registers, targets, chosen)


def _operands(instruction: Instruction, means: Lowering) -> tuple[list[str], list[str]]:
    """The names of what is written, and the operands that are read, lists taken apart."""
    given = list(instruction.operands)
    targets = listed(given.pop(0)) if means.results and given else []
    sources = [part for operand in given for part in (listed(operand) if operand.startswith("{") else [operand])]
    if (len(targets), len(sources)) != (len(means.results), len(means.sources)):
        raise refused(
            f"`{instruction}` has {len(targets) + len(sources)} operands",
            f"{len(means.results) + len(means.sources)}: {_described(means)}",
        )
    return targets, sources


def _described(means: Lowering) -> str:
    results, sources = (", ".join(f".{kind}" for kind in kinds) for kinds in (means.results, means.sources))
    return f"{results} from {sources}" if results else sources or "none"


def _computed(
    code: Code,
    registers: Registers,
    instruction: Instruction,
    means: Lowering,
    targets: list[str],
    sources: list[str],
) -> list[Value]:
    """The new bits of what is written."""
    values = [
        registers.address(operand) if kind == ADDRESS else _source(registers, operand, kind, means)
        for operand, kind in zip(sources, means.sources, strict=True)
    ]
    found = means.function(code, *values)
    results = found if isinstance(found, list) else [] if found is None else [found]
    return [
        value if name == _SINK else registers.fitted(name, kind, value, means.widens)
        for name, kind, value in zip(targets, means.results, results, strict=True)
    ]


def _source(registers: Registers, operand: str, kind: str, means: Lowering) -> Value:
    """An address in the place of a number is for meanings that programs have given."""
    if operand.startswith("["):
        return registers.address(operand)
    return registers.read(operand, kind, means.widens, means.special)


def _write(registers: Registers, targets: list[str], bits: Sequence[Value]) -> None:
    for name, value in zip(targets, bits, strict=True):
        if name != _SINK:
            registers.write(name, value)


def _branch(
    code: Code,
    registers: Registers,
    instruction: Instruction,
    means: Lowering,
    operands: tuple[Value, list[str], list[str]],
) -> list[Value]:
    """A guarded instruction that does more than compute: threads whose guard is false keep what they have."""
    guard, targets, sources = operands
    trace = code.trace
    kept = [_kept(code, registers, name) for name in targets]
    kinds = [value.type for value in kept]
    branch = trace.operation("scf.if", (guard,), kinds, regions=2)
    with trace.inside(trace.builder.append_block(branch, 0, (), trace.location()), "branch"):
        trace.operation("scf.yield", _computed(code, registers, instruction, means, targets, sources))
    with trace.inside(trace.builder.append_block(branch, 1, (), trace.location()), "branch"):
        trace.operation("scf.yield", kept)
    return list(branch.results)


def _kept(code: Code, registers: Registers, name: str) -> Value:
    if name == _SINK:
        raise refused("a guarded instruction whose result nobody takes", "a register for the result")
    now = registers.current(name)
    return code.integer(WIDTHS[registers.kind(name)], 0) if now is None else now


ASSEMBLY = "ptx"


@device_function
def inline_ptx(
    text: str,
    constraints: str = "",
    operands: Sequence[object] = (),
    results: type[Numeric] | tuple[type[Numeric], ...] | None = None,
    *,
    side_effects: bool = True,
    read_only_args: Sequence[object] | None = None,
) -> Any:
    """PTX among the operations of a kernel. `$0`, `$1` … in the text are the results and then the operands.

    Constraints name the registers in that order: `=r` for a result of 32 bits, `r` for such an operand, `l` for 64
    bits, `h` for 16, `f` and `d` for floats, `b` for a predicate, `n` for a constant. Without `side_effects` a text
    whose results nobody uses may be left out.

    A text without results may name its operands `{$r0}`, `{$r1}` … instead: those of `read_only_args`, in registers
    that follow from their types.
    """
    if read_only_args is not None:
        if constraints or operands or results is not None:
            raise _refused("read_only_args beside constraints, operands or results", "one way to name registers")
        text, operands = _PLACE.sub(r"$\1", text), read_only_args
        constraints = ",".join(_letter(_operand(each)) for each in read_only_args)
    kinds = () if results is None else results if isinstance(results, tuple) else (results,)
    types = [numeric_class(kind) for kind in kinds]
    trace = device_trace()
    values = list(map(_operand, operands))
    wanted = [trace.builder.type(dtype.info.mlir) for dtype in types]
    found = emit_inline(trace, text, constraints, values, wanted, side_effects)
    numbers = tuple(dtype.of(value, trace.region) for dtype, value in zip(types, found, strict=True))
    return numbers if isinstance(results, tuple) else numbers[0] if numbers else None


_PLACE = re.compile(r"\{\$r(\d+)\}")


def _operand(given: object) -> Value:
    """An operand as an MLIR value."""
    if is_address(given):
        return given
    value: Value = given.ir_value() if isinstance(given, Pointer) else number(given).ir_value()
    return value


def _letter(value: Value) -> str:
    """The register of an operand that the program gives none."""
    width = _width(value.type)
    return next(name for name in _preferred(value.type) if _WIDTHS[name] == width)


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
    assert is_integer(kind), "operands are pointers, floats or integers"
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


@device_function
def prmt(src: Integer, src_reg_shifted: Integer, prmt_indices: Integer) -> Uint32:
    """Byte i of the result is the one that digit i of `prmt_indices` names, counted over both registers.

    A digit of 8 or more gives the sign of that byte in all its bits.
    """
    region = device_trace().region
    operands = [Int32.of(bits32(each), region) for each in (src, src_reg_shifted, prmt_indices)]
    found: Uint32 = inline_ptx("prmt.b32 $0, $1, $2, $3;", "=r,r,r,r", operands, Uint32, side_effects=False)
    return found


@device_function
def lop3(a: Integer, b: Integer, c: Integer, lut: int) -> Int32:
    """Bit by bit what the truth table says: its bit 4a + 2b + c is the result of three bits, so that
    `(0xF0 & 0xCC) | 0xAA` is the table of `(a & b) | c`."""
    if not 0 <= lut <= 255:
        raise OperandTypeError(
            "the truth table of lop3 is known now", span=place(), found=repr(lut), expected="a Python int, 0 to 255"
        )
    region = device_trace().region
    operands = [Int32.of(bits32(each), region) for each in (a, b, c)]
    found: Int32 = inline_ptx(f"lop3.b32 $0, $1, $2, $3, {lut};", "=r,r,r,r", operands, Int32, side_effects=False)
    return found
