"""Inline PTX, sums and products of f32 rounded to zero, down or up: exact in f64 but for a last bit, then rounded.

A sum of doubles that is not exact is rounded to odd: its last bit says on which side the exact sum lies, and that is
all that a further rounding asks.
"""

from __future__ import annotations

from triptych.frontends.ptx.code import Code
from triptych.ir.handles import Value
from triptych.metastage.values.promotion import TYPES

DIRECTED = frozenset({"rz", "rm", "rp"})
_F32, _F64 = TYPES["Float32"], TYPES["Float64"]


def directed(name: str, mode: str, code: Code, *operands: Value) -> Value:
    """`add`, `sub`, `mul` or `fma` of f32, rounded in one direction."""
    wide = [code.converted(operand, _F32, _F64) for operand in operands]
    if name == "mul":
        return _rounded(code, mode, code.like("arith.mulf", *wide))
    if name == "sub":
        wide[1] = code.like("arith.negf", wide[1])
    elif name == "fma":
        wide = [code.like("arith.mulf", wide[0], wide[1]), wide[2]]
    return _rounded(code, mode, _signed_zero(code, mode, rounded_to_odd(code, *wide), *wide))


def _signed_zero(code: Code, mode: str, total: Value, left: Value, right: Value) -> Value:
    """Of numbers of both signs a sum that is zero is -0 where it is rounded down, and 0 otherwise."""
    if mode != "rm":
        return total
    zero = code.number("f64", 0.0)
    signs = code.like("arith.ori", code.bits(left, "f64"), code.bits(right, "f64"))
    signed = code.like("math.copysign", zero, code.from_bits(signs, "f64"))
    return code.select(code.compare_floats("eq", total, zero), signed, total)


def _rounded(code: Code, mode: str, exact: Value) -> Value:
    """The nearest f32, or the one before it where the nearest lies on the wrong side: infinities too."""
    near = code.converted(exact, _F64, _F32)
    back = code.converted(near, _F32, _F64)
    bits = code.bits(near, "f32")
    one = code.integer(32, 1)
    if mode == "rz":
        wrong = code.compare_floats("gt", code.like("math.absf", back), code.like("math.absf", exact))
        moved = code.like("arith.subi", bits, one)
    else:
        # Bits count from zero outwards: down is back for what is positive, and on for what is negative.
        outward = code.like("arith.ori", code.like("arith.shrsi", bits, code.integer(32, 31)), one)
        wrong = code.compare_floats("gt" if mode == "rm" else "lt", back, exact)
        moved = code.like("arith.subi" if mode == "rm" else "arith.addi", bits, outward)
    return code.select(wrong, code.from_bits(moved, "f32"), near)


def rounded_to_odd(code: Code, left: Value, right: Value) -> Value:
    """The sum of doubles: where it is not exact its last bit says so, and a further rounding is as good as one."""
    total = code.like("arith.addf", left, right)
    of_right = code.like("arith.subf", total, left)
    of_left = code.like("arith.subf", total, of_right)
    error = code.like("arith.addf", code.like("arith.subf", left, of_left), code.like("arith.subf", right, of_right))
    zero = code.number("f64", 0.0)
    bits = code.bits(total, "f64")
    negative = [code.compare_floats("lt", each, zero) for each in (error, total)]
    away = code.resized(code.like("arith.xori", *negative), 64)
    odd = code.like("arith.ori", code.like("arith.subi", bits, away), code.integer(64, 1))
    finite = code.compare_floats("lt", code.like("math.absf", total), code.number("f64", float("inf")))
    inexact = code.like("arith.andi", finite, code.compare_floats("ne", error, zero))
    return code.select(inexact, code.from_bits(odd, "f64"), total)
