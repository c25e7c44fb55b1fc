"""Inline PTX, lowerings of integers: sums, products, quotients, logic, shifts and bit fields; nothing traps.

Each function takes an instruction and gives its meaning, or None where there is none.
"""

from __future__ import annotations

from functools import partial

from triptych.frontends.ptx.code import WIDTHS, Code, Lowering, is_signed, type_in, width_of
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


# Inline PTX, lowerings of bit instructions: counting, reversing, fields, permuting bytes, any logic of three.

_COUNTS = {"popc": "math.ctpop", "clz": "math.ctlz"}
_MOST = 255
"""Places and lengths of fields are bytes."""


def counting(instruction: Instruction) -> Lowering | None:
    """`popc` and `clz`."""
    if instruction.marks not in (("b32",), ("b64",)):
        return None
    (kind,) = instruction.marks
    operation = _COUNTS[instruction.name]
    return Lowering(("u32",), (kind,), lambda code, value: code.resized(code.like(operation, value), 32))


def reversal(instruction: Instruction) -> Lowering | None:
    """`brev`."""
    if instruction.marks not in (("b32",), ("b64",)):
        return None
    (kind,) = instruction.marks
    return Lowering((kind,), (kind,), _reversed)


def field(instruction: Instruction) -> Lowering | None:
    """`bfe` and `bfi`: a field of an integer, taken out or put in."""
    if len(instruction.marks) != 1:
        return None
    (kind,) = instruction.marks
    if WIDTHS.get(kind) not in (32, 64) or kind[0] not in ("b" if instruction.name == "bfi" else "us"):
        return None
    if instruction.name == "bfi":
        return Lowering((kind,), (kind, kind, "u32", "u32"), _with_field)
    return Lowering((kind,), (kind, "u32", "u32"), partial(_field, signed=is_signed(kind)))


def permutation(instruction: Instruction) -> Lowering | None:
    """`prmt`: four of the eight bytes of two registers."""
    return Lowering(("b32",), ("b32", "b32", "b32"), _permuted) if instruction.marks == ("b32",) else None


def logic_of_three(instruction: Instruction) -> Lowering | None:
    """`lop3`: the truth table is a constant."""
    if instruction.marks != ("b32",) or len(instruction.operands) != 5:
        return None
    table = _number(instruction.operands[4])
    if table is None or not 0 <= table < 256:
        return None
    function = partial(_logic, table=table)
    return Lowering(("b32",), ("b32", "b32", "b32", "b32"), lambda code, a, b, c, _: function(code, a, b, c))


def _number(text: str) -> int | None:
    try:
        return int(text.rstrip("U"), 0)
    except ValueError:
        return None


def _reversed(code: Code, value: Value) -> Value:
    width = width_of(value)
    span = 1
    while span < width:
        low = code.integer(width, sum(((1 << span) - 1) << at for at in range(0, width, 2 * span)))
        step = code.integer(width, span)
        upper = code.like("arith.andi", code.like("arith.shrui", value, step), low)
        lower = code.like("arith.shli", code.like("arith.andi", value, low), step)
        value = code.like("arith.ori", upper, lower)
        span *= 2
    return value


def _byte(code: Code, number: Value, width: int) -> Value:
    return code.resized(code.like("arith.andi", number, code.integer(32, _MOST)), width)


def _shifted_out(code: Code, name: str, value: Value, count: Value) -> Value:
    """A shift by any count up to 255; by the width and more nothing is left."""
    width = width_of(value)
    inside = code.compare("lt", count, code.integer(width, width), signed=False)
    safe = code.select(inside, count, code.integer(width, 0))
    return code.select(inside, code.like(name, value, safe), code.integer(width, 0))


def _mask(code: Code, length: Value) -> Value:
    """So many ones."""
    one = code.integer(width_of(length), 1)
    return code.like("arith.subi", _shifted_out(code, "arith.shli", one, length), one)


def _field(code: Code, value: Value, start: Value, length: Value, *, signed: bool) -> Value:
    """What lies beyond the register is zero, or the sign: the bit that ends the field, or the register's last."""
    width = width_of(value)
    first, count = _byte(code, start, width), _byte(code, length, width)
    part = code.like("arith.andi", _shifted_out(code, "arith.shrui", value, first), _mask(code, count))
    if not signed:
        return part
    one, last = code.integer(width, 1), code.integer(width, width - 1)
    end = code.like("arith.minui", code.like("arith.subi", code.like("arith.addi", first, count), one), last)
    sign = code.like("arith.andi", code.like("arith.shrui", value, end), one)
    room = code.like(
        "arith.subi", code.integer(width, width), code.like("arith.minui", first, code.integer(width, width))
    )
    filled = code.like("arith.minui", count, room)
    above = code.like("arith.xori", _mask(code, filled), code.integer(width, -1))
    is_negative = code.compare("ne", sign, code.integer(width, 0), signed=False)
    extended = code.select(is_negative, code.like("arith.ori", part, above), part)
    return code.select(
        code.compare("eq", count, code.integer(width, 0), signed=False), code.integer(width, 0), extended
    )


def _with_field(code: Code, part: Value, value: Value, start: Value, length: Value) -> Value:
    width = width_of(value)
    first, count = _byte(code, start, width), _byte(code, length, width)
    mask = _shifted_out(code, "arith.shli", _mask(code, count), first)
    new = code.like("arith.andi", _shifted_out(code, "arith.shli", part, first), mask)
    old = code.like("arith.andi", value, code.like("arith.xori", mask, code.integer(width, -1)))
    return code.like("arith.ori", old, new)


def _permuted(code: Code, a: Value, b: Value, selector: Value) -> Value:
    """Each choice has three bits for the byte; the fourth asks for the byte's sign instead."""
    both = code.joined((a, b))
    found = []
    for place in range(4):
        choice = code.resized(code.like("arith.shrui", selector, code.integer(32, 4 * place)), 64)
        number = code.like("arith.andi", choice, code.integer(64, 7))
        byte = code.resized(code.like("arith.shrui", both, code.like("arith.muli", number, code.integer(64, 8))), 8)
        sign = code.like("arith.shrsi", byte, code.integer(8, 7))
        wants_sign = code.like("arith.andi", choice, code.integer(64, 8))
        wanted = code.compare("ne", wants_sign, code.integer(64, 0), signed=False)
        found.append(code.select(wanted, sign, byte))
    return code.joined(found)


def _logic(code: Code, a: Value, b: Value, c: Value, *, table: int) -> Value:
    """The rows of the table that are true: row abc is bit 4a + 2b + c."""
    ones = code.integer(32, -1)
    inputs = (a, b, c)
    negated = [code.like("arith.xori", each, ones) for each in inputs]
    found = code.integer(32, 0)
    for row in range(8):
        if table >> row & 1:
            chosen = [inputs[i] if row >> (2 - i) & 1 else negated[i] for i in range(3)]
            both = code.like("arith.andi", chosen[0], chosen[1])
            found = code.like("arith.ori", found, code.like("arith.andi", both, chosen[2]))
    return found
