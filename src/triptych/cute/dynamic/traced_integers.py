"""Run-time numbers in the layout algebra: a number becomes an unknown, a result becomes operations.

Nothing is emitted while the algebra works: it sees exact symbolic integers, so it proves all it can prove, and only
what the program asks for with `realize` is computed at run time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

from triptych.cute.dynamic.symbol_emission import Emitter, TracedSymbol, kind_for
from triptych.diagnostics.runtime_errors import LayoutRequirementError
from triptych.ir.handles import Value
from triptych.kernel_ir.dialects import simt
from triptych.kernel_ir.dialects.kernel_attributes import FITS
from triptych.kernel_ir.dialects.kernel_operations import defining_op
from triptych.layout import DeclarationError, Int, IntTuple, Layout, Requirement, SymInt, assuming, is_static
from triptych.layout.mixed_radix import balanced
from triptych.layout.number_operators import register_numbers
from triptych.layout.symbolic import terms_of
from triptych.metastage.trace.checks import check
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import Region, Trace, active, place
from triptych.metastage.values.emission import emit
from triptych.metastage.values.scalars import Int32, Int64, Int128, Numeric

_NOT_AS_DECLARED = "an integer of a layout is not what was declared of it"
_NAMES = "names of numbers"
"""How numbers are called, by id. A symbol keeps its number alive, so an id is reused only when no symbol has it."""
_KNOWN = "known numbers"
"""What the algebra knows a number to be, by id (with the number, so that the id stays its own)."""
_COMPUTED = "computed by the algebra"
"""The values of these numbers."""
_CHECKED = "checked requirements"
"""What has been checked to be zero, by region."""
_WIDENED = frozenset({"arith.extsi", "arith.extui", "arith.constant"})
_OF_INTEGERS = (
    _WIDENED
    | {simt.DIVISOR}
    | {
        f"arith.{name}"
        for name in (
            *("addi", "subi", "muli", "divsi", "ceildivsi", "floordivsi", "remsi", "minsi", "maxsi"),
            *("cmpi", "select", "andi", "ori", "xori", "shrsi", "shli"),
        )
    }
)
_EMITTERS = "emitters"
"""What has been computed, by region."""


def traced_int(n: Numeric | int, divisibility: int = 1, *, lower: int | None = None, upper: int | None = None) -> Int:
    """A run-time integer for the layout algebra; the same number is the same unknown wherever it is used.

    What is declared of it (a multiple of `divisibility`, from `lower` to `upper`) is checked at run time. Bounds let
    the algebra decide more, and keep what is computed from the number in 32 bits.
    """
    if divisibility < 1:
        raise DeclarationError("a divisibility is positive", found=f"divisibility={divisibility}")
    if isinstance(n, int) or not n.is_dynamic:
        return _known_now(int(n), divisibility, lower, upper)
    if divisibility == 1 and lower is None and upper is None:
        known = _trace_of(n).tables[_KNOWN].get(id(n))
        return _symbol(n, 1, None, None) if known is None else known[1]
    for holds, statement in _declarations(n, divisibility, lower, upper):
        _check(holds, _NOT_AS_DECLARED, statement)
    return _symbol(n, divisibility, lower, upper)


def trusted_int(n: Numeric | int, divisibility: int = 1, *, lower: int | None = None, upper: int | None = None) -> Int:
    """Like `traced_int` where what is declared is certain already: nothing is checked, and every use knows it."""
    if isinstance(n, int) or not n.is_dynamic:
        return _known_now(int(n), divisibility, lower, upper)
    return _remember(n, _symbol(n, divisibility, lower, upper))


def realize(value: IntTuple | Layout, widest: type[Numeric] = Int64) -> Any:
    """The run-time number of an integer of the algebra: Int32 when all its values fit, Int64 otherwise; ints stay.

    A nested tuple becomes one of numbers, a layout its shape and its stride; what they share is computed once. Who
    knows that what is asked for fits says so by `widest`.
    """
    parts = (value.shape, value.stride) if isinstance(value, Layout) else value
    return parts if is_static(parts) else _realized(parts, _emitter(), widest)


def is_of_layout(n: Numeric) -> bool:
    """Whether the algebra has computed the number (a coordinate, an extent, a stride), or it was computed from such and
    from Int32 numbers alone: nobody has asked for its 64 bits."""
    if not n.is_dynamic:
        return False
    known = _trace_of(n).tables[_COMPUTED]
    pending: list[Value] = [n.ir_value()]
    seen: set[Value] = set()
    found = False
    while pending:
        value = pending.pop()
        if value in known:
            found = True
        elif value not in seen:
            seen.add(value)
            operation = defining_op(value)
            if operation is None or operation.name not in _OF_INTEGERS:
                return False
            pending += [] if operation.name in _WIDENED else operation.operands
    return found


def within_int32(n: Int64, what: str = "a product of Int32 numbers") -> Int32:
    """The same number in 32 bits, which is checked at run time; the algebra goes on knowing what it is."""
    low, high = Int32.info.bounds
    _check((n >= low) & (n <= high), f"{what} does not fit in Int32", f"{low} to {high}")
    narrow = emit("arith.trunci", [n], Int32, [FITS]) if n.is_dynamic else n.to(Int32)
    known = _trace_of(n).tables[_KNOWN].get(id(n))
    if known is not None:
        _remember(narrow, known[1])
    return narrow


@contextmanager
def checked_layouts() -> Iterator[list[Requirement]]:
    """Also list what operations on run-time layouts need and cannot decide; it is checked at run time in any case."""
    with assuming(_check_requirement) as needs:
        yield needs


def _realized(value: IntTuple, emitter: Emitter, widest: type[Numeric]) -> Any:
    if isinstance(value, tuple):
        return tuple(_realized(item, emitter, widest) for item in value)
    number = emitter.integer(value, widest)
    if isinstance(value, SymInt) and isinstance(number, Numeric):
        _remember(number, value)
    return number


def _emitter() -> Emitter:
    """The emitter of the region being traced: what the regions around it have computed is there to be used."""
    trace = active()
    if trace is None:
        return Emitter()
    emitters = trace.tables[_EMITTERS]
    found: Emitter | None = None
    for region in reversed(list(_around(trace.region))):
        if region not in emitters:
            emitters[region] = Emitter(found)
        found = emitters[region]
    assert found is not None, "a trace has a region"
    return found


def _around(region: Region | None) -> Iterator[Region]:
    while region is not None:
        yield region
        region = region.parent


def _remember(n: Numeric, value: SymInt) -> SymInt:
    """A number that goes back into the algebra is what it was when it came out of it."""
    tables = _trace_of(n).tables
    tables[_KNOWN].setdefault(id(n), (n, value))
    tables[_COMPUTED][n.ir_value()] = True
    return value


def _symbol(n: Numeric, divisibility: int, lower: int | None, upper: int | None) -> SymInt:
    smallest, largest = _bounds(n)
    values = (smallest if lower is None else max(lower, smallest), largest if upper is None else min(upper, largest))
    symbol = _Number(_name(n), divisibility, kind_for(n.info.bounds).width, values[0], number=n, values=values)
    return SymInt((((symbol,), divisibility),))


def _known_now(n: int, divisibility: int, lower: int | None, upper: int | None) -> int:
    for holds, statement in _declarations(n, divisibility, lower, upper):
        if not holds:
            raise DeclarationError(_NOT_AS_DECLARED, found=str(n), expected=statement)
    return n


def _bounds(n: Numeric) -> tuple[int, int]:
    if n.info.is_integer and all(map(Int64.info.holds, n.info.bounds)):
        return n.info.bounds
    raise OperandTypeError(
        f"{type(n).__name__} cannot be an integer of a layout",
        span=place(),
        found=type(n).__name__,
        expected="an integer type whose values fit in Int64",
        instead="convert it first, for example .to(Int64)",
    )


def _name(n: Numeric) -> str:
    """Numbers are called n0, n1 … in the order in which a trace uses them, so that messages repeat."""
    names: dict[int, str] = _trace_of(n).tables[_NAMES]
    return names.setdefault(id(n), f"n{len(names)}")


def _trace_of(n: Numeric) -> Trace:
    n.ir_value()  # raises where the number may not be used
    trace = active()
    assert trace is not None, "a number with an IR value belongs to a trace"
    return trace


def _declarations(
    n: Numeric | int, divisibility: int, lower: int | None, upper: int | None
) -> Iterator[tuple[Any, str]]:
    """What was declared of a number, each with whether it holds."""
    if divisibility > 1:
        yield n % divisibility == 0, f"a multiple of {divisibility}"
    if lower is not None:
        yield n >= lower, f"at least {lower}"
    if upper is not None:
        yield n <= upper, f"at most {upper}"


def _check_requirement(requirement: Requirement) -> None:
    """Check it here, unless it has been checked before this place is reached.

    A residue is often a product, and two factors of 64 bits could wrap to the zero that is asked for: 128 do not.
    """
    residue = _emitter().integer(requirement.residue, widest=Int128)
    trace = _trace_of(residue)
    checked = trace.tables[_CHECKED]
    terms = terms_of(requirement.residue)
    if any(terms in checked.get(region, ()) for region in _around(trace.region)):
        return
    checked.setdefault(trace.region, set()).add(terms)
    _check(residue == 0, f"{requirement.operation} has no exact result for this layout", requirement.statement)


class _Number(TracedSymbol):
    """An unknown of a trace: what is required of it is checked where it is required."""

    __slots__ = ()

    def promise(self, requirement: Requirement) -> bool:
        residue = requirement.residue
        numbers = isinstance(residue, SymInt) and all(isinstance(symbol, _Number) for symbol in residue.symbols)
        if numbers:
            _check_requirement(requirement)
        return numbers

    def number_of(self, value: SymInt) -> Any:
        return realize(value)

    def sides_of(self, difference: SymInt) -> tuple[Any, Any]:
        """Numbers of 32 or 64 bits where both sides fit: their difference needs one more, which is twice as much."""
        emitter = _emitter()
        ways = [balanced(difference, constant_left) for constant_left in (True, False)]
        for kind, sides in product((Int32, Int64), ways):
            if all(emitter.fits(side, kind) for side in sides):
                left, right = (realize(side) for side in sides)
                return left, right
        return realize(difference, Int128), 0


def _check(holds: Numeric, title: str, expected: str) -> None:
    check(_trace_of(holds), holds.ir_value(), LayoutRequirementError.__name__, title, expected=expected)


register_numbers(Numeric, traced_int, realize)


def ints(value: object) -> Any:
    """A number, or a nested tuple of numbers, as the algebra takes it; everything else stays."""
    if isinstance(value, tuple):
        return tuple(map(ints, value))
    return traced_int(value) if isinstance(value, Numeric) else value


def numbers(value: IntTuple | Layout) -> Any:
    """An integer of the algebra, or a nested tuple of them, as a program computes with it."""
    return value if active() is None else realize(value)
