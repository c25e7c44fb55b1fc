"""Inline PTX, text -> operations: follows the statements once, on machines that do not read PTX."""

from __future__ import annotations

from collections.abc import Sequence

from triptych.frontends.ptx.code import ADDRESS, Code, Lowering, width_of
from triptych.frontends.ptx.constraints import CONSTANTS, REGISTERS, Constraints
from triptych.frontends.ptx.kinds import WIDTHS
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
from triptych.ir.handles import Value
from triptych.metastage.trace.trace import Trace

_SINK = "_"


def interpret(trace: Trace, text: str, constraints: Constraints, operands: Sequence[Value]) -> list[Value]:
    """The bits of the results of a text, given those of its operands."""
    code = Code(trace)
    registers = Registers(code)
    outputs = constraints.outputs
    tied = {int(given): operand for given, operand in zip(constraints.inputs, operands, strict=True) if given.isdigit()}
    for place, letter in enumerate(outputs):
        registers.declare(f"${place}", REGISTERS[letter], tied.get(place))
    for place, operand in enumerate(operands):
        letter = constraints.letter(place)
        kind = f"b{width_of(operand)}" if letter in CONSTANTS else REGISTERS[letter]
        registers.declare(f"${len(outputs) + place}", kind, operand)
    for statement in _read(text):
        _follow(code, registers, statement)
    return [_result(registers, place) for place in range(len(outputs))]


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
