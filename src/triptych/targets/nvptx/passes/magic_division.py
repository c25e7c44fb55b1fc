"""Divisions by what the host knows, as multiplications: the host computes a reciprocal once for all threads.

For d from 1 to 2**31 - 1, let l be the smallest number with 2**l >= d, and m = 2**(31+l) // d + 1, which has 32 bits.
Then n // d == n*m >> (31+l) for every n from 0 to 2**31 - 1: m*d exceeds 2**(31+l) by at most d, so n*m / 2**(31+l)
exceeds n/d by less than 1/2**l, which is no more than the 1/d that would reach the next integer. Computed from 2*n that
is the high half of a product, shifted by l: three instructions, and 32 bits to go on with. The same holds for 64 bits,
whose divisions would be calls; there the host divides bit by bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from triptych.ir import bindings
from triptych.ir.builder import builder_before
from triptych.ir.handles import Attribute, Module, Operation, Value
from triptych.ir.modules import operations_named
from triptych.ir.passes import Replacement, replace_each
from triptych.ir.types import int_width
from triptych.targets.nvptx.analysis.host_expressions import ARGUMENT, Expression, HostSide
from triptych.targets.nvptx.analysis.kernels import kernels
from triptych.targets.nvptx.passes.floor_divisions import FloorDivision, floor_division

_RECIPROCAL = "triptych.reciprocal"
"""On a division: the places of the kernel's arguments that are the divisor, m and l."""
_NO_SIGN = "triptych.no_sign"
"""On an unsigned division, from the trace: neither number needs its highest bit."""
_AT_LEAST = 9
"""The predicate: unsigned >=."""
_WIDTHS = (32, 64)
DIVISIONS = frozenset({"arith.divui", "arith.remui"})


# Before anything else has changed the kernel ------------------------------------------------------------------------
def ask_for_reciprocals(side: HostSide, divisions: Sequence[Operation]) -> None:
    """Let the host compute a reciprocal for each divisor that it knows. The divisions stay, and say where it is."""
    given: dict[Expression, Attribute] = {}
    for operation in divisions:
        if operation.name in DIVISIONS:
            divisor = side.expression(operation.operands[1]) if _NO_SIGN in operation.attributes else None
            if divisor is not None and _is_worth_it(divisor):
                operation.attributes[_RECIPROCAL] = _reciprocal(side, divisor, given)
            continue
        division = floor_division(operation)
        if division is not None:
            divisor = side.expression(division.divisor)
            if divisor is not None and _is_worth_it(divisor) and divisor.bounds[0] >= 0:
                _divide_downwards(side.kernel, division, _reciprocal(side, divisor, given))


def _is_worth_it(divisor: Expression) -> bool:
    """LLVM knows what to do with constants."""
    return divisor.width in _WIDTHS and not divisor.is_constant


def _reciprocal(side: HostSide, divisor: Expression, given: dict[Expression, Attribute]) -> Attribute:
    """Compute it on the host. A divisor of zero is never used, but must have a reciprocal."""
    if divisor not in given:
        width, kind = divisor.width, f"i{divisor.width}"
        one, known = side.constant(1, kind), side.compute(divisor)
        above_zero = side.emit("arith.maxui", (known, one), kind)
        zeros = side.emit("math.ctlz", (side.emit("arith.subi", (above_zero, one), kind),), kind)
        shift = side.emit("arith.subi", (side.constant(width, kind), zeros), kind)
        quotient = (_short_quotient if width == _WIDTHS[0] else _long_quotient)(side, above_zero, shift)
        multiplier = side.emit("arith.addi", (quotient, one), kind)
        place = divisor.number if divisor.name == ARGUMENT else side.give(known)
        places = [place, side.give(multiplier), side.give(shift)]
        given[divisor] = bindings.mlir().DenseI32ArrayAttr.get(places, context=side.kernel.context)
    return given[divisor]


def _short_quotient(side: HostSide, divisor: Value, shift: Value) -> Value:
    """`2**(31 + shift) // divisor`, of 32 bits."""
    half = side.constant(1 << 31, "i64")
    power = side.emit("arith.shli", (half, side.emit("arith.extui", (shift,), "i64")), "i64")
    quotient = side.emit("arith.divui", (power, side.emit("arith.extui", (divisor,), "i64")), "i64")
    return side.emit("arith.trunci", (quotient,), "i32")


def _long_quotient(side: HostSide, divisor: Value, shift: Value) -> Value:
    """`2**(63 + shift) // divisor`, of 64 bits: the first bit is one, for `2**shift` is not below the divisor."""
    builder, kind = side.builder, side.builder.type("i64")
    one = side.constant(1, "i64")
    rest = side.emit("arith.subi", (side.emit("arith.shli", (one, shift), "i64"), divisor), "i64")
    bounds = [side.constant(number, "i64") for number in (0, 63, 1)]
    loop = builder.operation("scf.for", (*bounds, rest, one), (kind, kind), regions=1, location=side.location)
    body = builder.append_block(loop, 0, [kind] * 3, side.location)
    outside = builder.enter(body)
    _, left, quotient = body.arguments
    left = side.emit("arith.addi", (left, left), "i64")
    fits = side.compare(_AT_LEAST, left, divisor)
    left = side.emit("arith.select", (fits, side.emit("arith.subi", (left, divisor), "i64"), left), "i64")
    bit = side.emit("arith.extui", (fits,), "i64")
    quotient = side.emit("arith.addi", (side.emit("arith.addi", (quotient, quotient), "i64"), bit), "i64")
    builder.operation("scf.yield", (left, quotient), (), location=side.location)
    builder.leave(outside)
    return loop.results[1]


def _divide_downwards(kernel: Operation, division: FloorDivision, reciprocal: Attribute) -> None:
    """The quotient of n is that of n or ~n, whichever is not negative, and has the sign of n."""
    builder = builder_before(division.operation)
    kind = division.operation.result.type
    width = int_width(kind) or 0

    def emit(name: str, left: Value, right: Value, attributes: dict[str, Attribute] | None = None) -> Value:
        return builder.value(f"arith.{name}", (left, right), kind, attributes)

    highest = builder.constant(width - 1, kind)
    sign = emit("shrsi", division.dividend, highest)
    size = emit("xori", division.dividend, sign)
    quotient = emit("xori", emit("divui", size, division.divisor, {_RECIPROCAL: reciprocal}), sign)
    if division.name == "%":
        quotient = emit("subi", division.dividend, emit("muli", quotient, division.divisor))
    division.operation.result.replace_all_uses_with(quotient)


# When everything is known of the kernel -----------------------------------------------------------------------------
def magic_division(module: Module) -> None:
    """Pass `magic-division`: divisions whose divisor has a reciprocal become multiplications."""
    for kernel in kernels(module):
        arguments = list(kernel.regions[0].blocks[0].arguments)
        replace_each(operations_named(kernel, *DIVISIONS), partial(_multiplied, arguments))


def _multiplied(arguments: Sequence[Value], op: Replacement) -> list[Value] | None:
    division = op.operation
    if _RECIPROCAL not in division.attributes:
        return None
    places = bindings.mlir().DenseI32ArrayAttr(division.attributes[_RECIPROCAL])
    divisor, multiplier, shift = (arguments[place] for place in places)
    dividend = op.operands[0]
    width = int_width(dividend.type) or 0
    kind, wide = f"i{width}", f"i{2 * width}"

    def emit(name: str, kind: str, *operands: Value) -> Value:
        return op.value(f"arith.{name}", operands, kind)

    twice = emit("addi", kind, dividend, dividend)
    product = emit("muli", wide, emit("extui", wide, twice), emit("extui", wide, multiplier))
    high = emit("shrui", wide, product, op.integer(wide, width))
    result = emit("shrui", kind, emit("trunci", kind, high), shift)
    if division.name == "arith.remui":
        result = emit("subi", kind, dividend, emit("muli", kind, result, divisor))
    return [result]
