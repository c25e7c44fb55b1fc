"""Pass `hoist-to-host`: what all threads would compute alike of their kernel's arguments, the host computes for them.

That is whether the kernel may run at all, as far as its first operations check that, and the reciprocals of what it
divides by. Both sides of a launch change, so it runs before they part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from triptych.ir import bindings
from triptych.ir.builder import builder_before
from triptych.ir.handles import Attribute, Block, Module, Operation, Value
from triptych.ir.launch import launches
from triptych.ir.modules import kernels, operations_named, signature_of
from triptych.ir.passes import Replacement, replace_each
from triptych.ir.types import int_width
from triptych.kernel_ir.dialects.kernel_operations import blocks_around, known_block
from triptych.support.dataclass import dataclass
from triptych.targets.nvptx.analysis.extents import extents_given
from triptych.targets.nvptx.analysis.host_expressions import ARGUMENT, Expression, HostSide
from triptych.targets.nvptx.analysis.patterns import LAST_OF_FLOOR, FloorDivision, Term, floor_division, match

# Divisions by what the host knows, as multiplications: the host computes a reciprocal once for all threads.
#
# For d from 1 to 2**31 - 1, let l be the smallest number with 2**l >= d, and m = 2**(31+l) // d + 1, which has 32 bits.
# Then n // d == n*m >> (31+l) for every n from 0 to 2**31 - 1: m*d exceeds 2**(31+l) by at most d, so n*m / 2**(31+l)
# exceeds n/d by less than 1/2**l, which is no more than the 1/d that would reach the next integer. Computed from 2*n
# that is the high half of a product, shifted by l: three instructions, and 32 bits to go on with. The same holds for 64
# bits, whose divisions would be calls; there the host divides bit by bit.

_RECIPROCAL = "triptych.reciprocal"
"""On a division: the places of the kernel's arguments that are the divisor, m and l."""
_NO_SIGN = "triptych.no_sign"
"""On an unsigned division, from the trace: neither number needs its highest bit."""
_UNSIGNED_AT_LEAST = 9
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
    fits = side.compare(_UNSIGNED_AT_LEAST, left, divisor)
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


# Checks that a kernel begins with and that only its arguments decide: the host makes them before the launch.
#
# A kernel that fails ends with a message on the error stream and takes the context with it; a check of the host raises
# an exception. A check may also stand under the condition that most kernels begin with, `number of the thread < size`:
# the smallest of these numbers tells whether any thread comes to the check.
_WITHOUT_EFFECT = ("arith.", "math.", "vector.", "llvm.mlir.", "llvm.alloca", "llvm.getelementptr", "llvm.load")
_NUMBERS = ("gpu.thread_id", "gpu.block_id", "gpu.block_dim", "gpu.grid_dim", "gpu.lane_id")
CHECK = "cf.assert"
_EQUAL, _AT_LEAST, _MORE = 0, 5, 8
"""Predicates: equal, signed >=, unsigned >."""


@dataclass(frozen=True, slots=True)
class _Check:
    operation: Operation
    holds: Expression
    block: Block
    """Whoever runs it makes the check."""
    size: Expression | None
    """Only threads with a number below it run the block."""


def check_on_the_host(side: HostSide, checks: Sequence[Operation]) -> None:
    """Move the leading ones of a kernel's checks in front of the launch. It need not make the same again anywhere."""
    made: dict[tuple[Block, Expression], _Check] = {}
    for check in _checks(side, side.kernel.regions[0].blocks[0], None):
        made.setdefault((check.block, check.holds), check)
    for check in made.values():
        attributes = {name: check.operation.attributes[name] for name in check.operation.attributes}
        passes = side.compute(check.holds)
        for excuse in _excuses(side, check):
            passes = side.emit("arith.ori", (passes, excuse), "i1")
        side.builder.operation(CHECK, (passes,), (), attributes, location=check.operation.location)
    for operation in checks if made else ():
        holds = side.expression(operation.operands[0])
        if holds is not None and any((block, holds) in made for block in blocks_around(operation)):
            operation.erase()


def _checks(side: HostSide, block: Block, size: Expression | None) -> Iterator[_Check]:
    """The checks in front of anything that has an effect, or that a thread must decide."""
    for operation in block.operations:
        name = operation.operation.name
        if name == CHECK:
            holds = side.expression(operation.operands[0])
            if holds is None:
                return
            yield _Check(operation.operation, holds, block, size)
        elif name == "scf.if":
            bound = _size(side, operation.operands[0]) if size is None else None
            if bound is not None:
                yield from _checks(side, operation.regions[0].blocks[0], bound)
            return
        elif not name.startswith((*_WITHOUT_EFFECT, *_NUMBERS)):
            return


def _excuses(side: HostSide, check: _Check) -> Iterator[Value]:
    """Reasons for which no thread makes the check."""
    zero = side.constant(0, "i32")
    for blocks in side.grid:
        yield side.compare(_EQUAL, blocks, zero)
    if check.size is not None:
        kind = f"i{check.size.width}"
        yield side.compare(_AT_LEAST, _smallest(side, kind), side.compute(check.size))


# The number of a thread -----------------------------------------------------------------------------------------------
def _number(operation: str) -> Term:
    return ("arith.index_cast", (f"{operation} x",))


def _size(side: HostSide, condition: Value) -> Expression | None:
    """What `block * threads + thread` must be below; None for any other condition."""
    threads = _threads(side.kernel)
    if threads is None:
        return None
    firsts = [("arith.muli", _number("gpu.block_id"), width) for width in (_number("gpu.block_dim"), threads)]
    firsts += [("arith.muli", width, block) for _, block, width in firsts]
    thread = _number("gpu.thread_id")
    numbers = [sum_ for first in firsts for sum_ in (("arith.addi", first, thread), ("arith.addi", thread, first))]
    wider = [("arith.extsi", number) for number in numbers]
    found = match(condition, *(("arith.cmpi slt", number, "size") for number in (*numbers, *wider)))
    return side.expression(found["size"]) if found is not None else None


def _threads(kernel: Operation) -> int | None:
    """The threads of a block whose threads are in one line, if they are known."""
    block = known_block(kernel)
    return block[0] if block is not None and block[1:] == (1, 1) else None


def _smallest(side: HostSide, kind: str) -> Value:
    """Zero, unless there are threads beyond 2**31: the first of these has the smallest number of 32 bits."""
    threads = side.constant(_threads(side.kernel) or 1, "i64")
    count = side.emit("arith.muli", (side.emit("arith.extui", (side.grid[0],), "i64"), threads), "i64")
    wraps = side.compare(_MORE, count, side.constant(1 << 31, "i64"))
    return side.emit("arith.select", (wraps, side.constant(-(1 << 31), kind), side.constant(0, kind)), kind)


def hoist_to_host(module: Module) -> None:
    """Change the kernels and the launches of a program."""
    signature = signature_of(module)
    found = {kernel.attributes["sym_name"].value: kernel for kernel in kernels(module)}
    with module.context:
        for launch in launches(module):
            kernel = found[launch.kernel]
            operations = operations_named(kernel, CHECK, LAST_OF_FLOOR, *DIVISIONS)
            if operations:
                side = HostSide(kernel, launch, extents_given(module, signature, launch))
                ask_for_reciprocals(side, [operation for operation in operations if operation.name != CHECK])
                check_on_the_host(side, [operation for operation in operations if operation.name == CHECK])
                side.finish()
