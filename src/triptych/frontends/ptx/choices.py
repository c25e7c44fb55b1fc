"""Inline PTX, lowerings of comparisons and selections: `setp`, `set`, `selp`, `slct`."""

from __future__ import annotations

from functools import partial

from triptych.frontends.ptx.code import COMPARISONS, FLOATS, ORDERED, UNORDERED, WIDTHS, Code, Lowering, is_signed
from triptych.frontends.ptx.statements import Instruction, listed
from triptych.ir.handles import Value

_COMBINED = {"and": "arith.andi", "or": "arith.ori", "xor": "arith.xori"}
_UNSIGNED_ONLY = ("lo", "ls", "hi", "hs")


def comparison(instruction: Instruction) -> Lowering | None:
    """`setp.test[.and|or|xor][.ftz].kind p[|q], a, b[, c]`."""
    marks = list(instruction.marks)
    if len(marks) < 2:
        return None
    test, kind = marks[0], marks[-1]
    combined = marks[1] if marks[1] in _COMBINED else ""
    if marks[1:-1] != ([combined] if combined else []) or not _is_test(test, kind):
        return None
    results = ("pred",) * len(listed(instruction.operands[0])) if instruction.operands else ("pred",)
    sources = (kind, kind, *(("pred",) if combined else ()))
    return Lowering(
        results, sources, partial(_set_predicate, test=test, kind=kind, combined=combined, both=results[1:])
    )


def choice(instruction: Instruction) -> Lowering | None:
    """`selp`: one of two by a predicate."""
    if len(instruction.marks) != 1 or WIDTHS.get(instruction.marks[0]) not in (16, 32, 64):
        return None
    (kind,) = instruction.marks
    return Lowering((kind,), (kind, kind, "pred"), lambda code, yes, no, by: code.select(by, yes, no))


def set_number(instruction: Instruction) -> Lowering | None:
    """`set.test.to.kind`: all ones or 1.0 where a comparison holds."""
    if len(instruction.marks) != 3:
        return None
    test, to, kind = instruction.marks
    if not _is_test(test, kind) or to not in ("u32", "s32", "f32"):
        return None

    def function(code: Code, a: Value, b: Value) -> Value:
        truth = _compared(code, a, b, test, kind)
        if to == "f32":
            return code.select(truth, code.number("f32", 1.0), code.number("f32", 0.0))
        return code.resized(truth, 32, signed=True)

    return Lowering((to,), (kind, kind), function)


def choice_by_sign(instruction: Instruction) -> Lowering | None:
    """`slct.kind.s32`: the first where the third is not negative."""
    if len(instruction.marks) != 2 or instruction.marks[1] not in ("s32", "f32"):
        return None
    kind, by = instruction.marks
    if WIDTHS.get(kind) not in (16, 32, 64):
        return None

    def function(code: Code, yes: Value, no: Value, sign: Value) -> Value:
        if by == "f32":
            return code.select(code.compare_floats("ge", sign, code.number("f32", 0.0)), yes, no)
        return code.select(code.compare("ge", sign, code.integer(32, 0), signed=True), yes, no)

    return Lowering((kind,), (kind, kind, by), function)


def _is_test(test: str, kind: str) -> bool:
    if kind in FLOATS:
        return test in ORDERED or test in UNORDERED
    if WIDTHS.get(kind) not in (16, 32, 64) or test not in COMPARISONS:
        return False
    if kind[0] == "b":
        return test in ("eq", "ne")
    return kind[0] == "u" or test not in _UNSIGNED_ONLY


def _compared(code: Code, a: Value, b: Value, test: str, kind: str) -> Value:
    return code.compare_floats(test, a, b) if kind in FLOATS else code.compare(test, a, b, is_signed(kind))


def _set_predicate(
    code: Code, a: Value, b: Value, *also: Value, test: str, kind: str, combined: str, both: tuple[str, ...]
) -> Value | list[Value]:
    """The second result is of the opposite comparison, combined with the same third operand."""
    truth = _compared(code, a, b, test, kind)
    found = [truth]
    if both:
        found.append(code.like("arith.xori", truth, code.integer(1, 1)))
    if combined:
        found = [code.like(_COMBINED[combined], each, also[0]) for each in found]
    return found if both else found[0]
