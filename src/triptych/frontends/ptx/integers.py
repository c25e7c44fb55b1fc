"""Inline PTX, lowerings of integer arithmetic: sums, products, quotients, logic and shifts; nothing traps.

Each function takes an instruction and gives its meaning, or None where there is none.
"""

from __future__ import annotations

from functools import partial

from triptych.frontends.ptx.code import Code, Lowering, width_of
from triptych.frontends.ptx.kinds import WIDTHS, is_signed, type_in
from triptych.frontends.ptx.statements import Instruction
from triptych.ir.handles import Value

_PLAIN = {
    "add": "arith.addi",
    "sub": "arith.subi",
    "and": "arith.andi",
    "or": "arith.ori",
    "xor": "arith.xori",
    "min": "arith.min{}i",
    "max": "arith.max{}i",
}
_LOGIC = ("and", "or", "xor", "not")
_INTEGERS = frozenset(f"{letter}{width}" for letter in "us" for width in (16, 32, 64))
_BITS = frozenset({"pred", "b16", "b32", "b64"})


def integer_arithmetic(instruction: Instruction) -> Lowering | None:
    """`add`, `sub`, `min`, `max`, `neg`, `abs`, `div`, `rem` of integers, and logic on bits."""
    name, marks = instruction.name, instruction.marks
    if len(marks) != 1:
        return None
    (kind,) = marks
    if kind not in (_BITS if name in _LOGIC else _INTEGERS):
        return None
    if name in _PLAIN:
        operation = _PLAIN[name].format("s" if is_signed(kind) else "u")
        return Lowering((kind,), (kind, kind), lambda code, a, b: code.like(operation, a, b))
    if name in ("div", "rem"):
        return Lowering((kind,), (kind, kind), partial(_quotient, name=name, signed=is_signed(kind)))
    if name == "not":
        return Lowering((kind,), (kind,), lambda code, a: code.like("arith.xori", a, code.integer(WIDTHS[kind], -1)))
    if name == "neg" and is_signed(kind):
        return Lowering((kind,), (kind,), _negated)
    if name == "abs" and is_signed(kind):
        return Lowering((kind,), (kind,), _absolute)
    return None


def product(instruction: Instruction) -> Lowering | None:
    """`mul` and `mad` of integers: the low half, the high half, or all of the product."""
    name, marks = instruction.name, instruction.marks
    if len(marks) != 2 or marks[0] not in ("lo", "hi", "wide") or marks[1] not in _INTEGERS:
        return None
    part, kind = marks
    width = WIDTHS[kind]
    if part == "wide" and width > 32:
        return None
    result = kind if part != "wide" else f"{kind[0]}{2 * width}"
    times = partial(_product, part=part, width=width, signed=is_signed(kind))
    if name == "mul":
        return Lowering((result,), (kind, kind), times)
    return Lowering(
        (result,), (kind, kind, result), lambda code, a, b, c: code.like("arith.addi", times(code, a, b), c)
    )


def shift(instruction: Instruction) -> Lowering | None:
    """`shl` and `shr`: from the width on everything is shifted out, or is the sign."""
    name, kind = instruction.name, type_in(instruction.marks)
    if instruction.marks != (kind,) or WIDTHS.get(kind) not in (16, 32, 64) or kind[0] not in "bus":
        return None
    if name == "shl" and kind[0] != "b":
        return None
    return Lowering((kind,), (kind, "u32"), partial(_shifted, left=name == "shl", signed=is_signed(kind)))


def funnel_shift(instruction: Instruction) -> Lowering | None:
    """`shf`: 32 of 64 bits."""
    if len(instruction.marks) != 3 or instruction.marks[2] != "b32":
        return None
    direction, mode, _ = instruction.marks
    if direction not in ("l", "r") or mode not in ("wrap", "clamp"):
        return None
    function = partial(_funnel, left=direction == "l", wraps=mode == "wrap")
    return Lowering(("b32",), ("b32", "b32", "u32"), function)


def _negated(code: Code, value: Value) -> Value:
    return code.like("arith.subi", code.integer(width_of(value), 0), value)


def _absolute(code: Code, value: Value) -> Value:
    below = code.compare("lt", value, code.integer(width_of(value), 0), signed=True)
    return code.select(below, _negated(code, value), value)


def _quotient(code: Code, a: Value, b: Value, *, name: str, signed: bool) -> Value:
    """Towards zero. A GPU gives all ones for a quotient by zero, where a CPU would end the program."""
    width = width_of(a)
    zero, one, ones = (code.integer(width, number) for number in (0, 1, -1))
    by_zero = code.compare("eq", b, zero, signed)
    safe = code.select(by_zero, one, b)
    if signed:  # the one quotient that does not fit traps as well
        is_minus_one = code.compare("eq", b, ones, signed)
        safe = code.select(is_minus_one, one, safe)
    letter = "s" if signed else "u"
    if name == "rem":
        return code.select(by_zero, a, code.like(f"arith.rem{letter}i", a, safe))
    found = code.like(f"arith.div{letter}i", a, safe)
    if signed:
        found = code.select(is_minus_one, _negated(code, a), found)
    return code.select(by_zero, ones, found)


def _product(code: Code, a: Value, b: Value, *, part: str, width: int, signed: bool) -> Value:
    if part == "lo":
        return code.like("arith.muli", a, b)
    whole = code.like("arith.muli", *(code.resized(each, 2 * width, signed) for each in (a, b)))
    if part == "wide":
        return whole
    return code.resized(code.like("arith.shrui", whole, code.integer(2 * width, width)), width)


def _shifted(code: Code, value: Value, count: Value, *, left: bool, signed: bool) -> Value:
    width = width_of(value)
    inside = code.compare("lt", count, code.integer(32, width), signed=False)
    last = code.select(inside, count, code.integer(32, width - 1))
    operation = "arith.shli" if left else "arith.shrsi" if signed else "arith.shrui"
    shifted = code.like(operation, value, code.resized(last, width))
    return shifted if signed and not left else code.select(inside, shifted, code.integer(width, 0))


def _funnel(code: Code, low: Value, high: Value, count: Value, *, left: bool, wraps: bool) -> Value:
    if wraps:
        count = code.like("arith.andi", count, code.integer(32, 31))
    else:
        count = code.like("arith.minui", count, code.integer(32, 32))
    wide = code.resized(count, 64)
    both = code.joined((low, high))
    if left:
        return code.halves(code.like("arith.shli", both, wide))[1]
    return code.resized(code.like("arith.shrui", both, wide), 32)
