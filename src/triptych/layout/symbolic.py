"""Symbolic integers: the `?` of the notation, kept as exact polynomials.

Input: named unknowns with a divisibility and a width. Output: integers that add, multiply and divide exactly.
A multiple of 4 is stored as 4·x, so divisibility is not a flag to propagate but the gcd of the coefficients,
and (4·x)//4·4 is the same value again.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any, TypeAlias

from triptych.layout.errors import DeclarationError
from triptych.layout.integers import Int, Requirement
from triptych.layout.number_operators import Bounds, NumberOperators
from triptych.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Symbol:
    """An unknown: the caller's value is `divisor` times it."""

    name: str
    divisor: int = 1
    width: int = 32
    lower: int | None = 1

    def __post_init__(self) -> None:
        if self.width not in (32, 64) or self.divisor < 1:
            title = "a symbolic integer has 32 or 64 bits and a positive divisibility"
            raise DeclarationError(title, found=f"width={self.width}, divisibility={self.divisor}")

    def promise(self, requirement: Requirement) -> bool:
        """Have a requirement checked when the program runs; False for an unknown that is no number then."""
        return False

    def number_of(self, value: SymInt) -> Any:
        """The run-time number that an integer of such unknowns is; None when there is none."""
        return None

    def sides_of(self, difference: SymInt) -> tuple[Any, Any] | None:
        """Two exact run-time numbers with a difference, to be compared; None when there are none.

        Other numbers wrap where machine integers end.
        """
        return None

    def __str__(self) -> str:
        return self.name if self.divisor == 1 else f"({self.name}/{self.divisor})"


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """An operation that has no polynomial form: //, min, & or ^ of two integers.

    Operands share parts, so the tree they unfold to may be a thousand times larger than what is stored. What is asked
    often is therefore found once, when the operation is made.
    """

    name: str
    left: Int
    right: Int
    text: str = field(init=False, repr=False, compare=False)
    width: int = field(init=False, repr=False, compare=False)
    lower: int | None = field(init=False, repr=False, compare=False)
    hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        sides = (self.left, self.right)
        object.__setattr__(self, "text", _operation_text(self.name, *map(expression, sides)))
        object.__setattr__(self, "width", max(side.width for side in sides if isinstance(side, SymInt)))
        object.__setattr__(self, "lower", _operation_lower_bound(self.name, self.left, self.right))
        object.__setattr__(self, "hash", hash((self.name, *sides)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Operation):
            return NotImplemented
        return self is other or (
            self.hash == other.hash
            and self.name == other.name
            and same(self.left, other.left)
            and same(self.right, other.right)
        )

    def __hash__(self) -> int:
        return self.hash

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[type[Operation], tuple[str, Int, Int]]:
        """Made anew from its operands: hashes differ from process to process."""
        return Operation, (self.name, self.left, self.right)


Atom: TypeAlias = Symbol | Operation
Monomial: TypeAlias = tuple[Atom, ...]
Terms: TypeAlias = tuple[tuple[Monomial, int], ...]

_CONSTANT: Monomial = ()
_EVALUATE: dict[str, Callable[[int, int], int]] = {
    "//": lambda a, b: a // b,
    "min": min,
    "&": lambda a, b: a & b,
    "^": lambda a, b: a ^ b,
}

FRESH = itertools.count(1)
"""Of unknowns without a name."""


@dataclass(frozen=True, slots=True, eq=False, init=False)
class SymInt(NumberOperators):
    """A polynomial in unknowns with integer coefficients, in one normal form: equal values have equal terms.

    What the polynomial does not decide is decided when the program runs, if its unknowns are numbers then.
    `SymInt()` is a new unknown of 32 bits, `SymInt(64, divisibility=8)` one of 64 that is a multiple of 8.
    """

    terms: Terms

    def __init__(self, terms: Terms | int = 32, *, divisibility: int = 1) -> None:
        if isinstance(terms, int):
            terms = (((Symbol(f"_{next(FRESH)}", divisibility, terms, 0),), divisibility),)
        object.__setattr__(self, "terms", terms)

    @property
    def divisibility(self) -> int:
        """The largest integer known to divide the value."""
        return math.gcd(*(coefficient for _, coefficient in self.terms))

    @property
    def width(self) -> int:
        """Bits of the machine integer: 32 or 64."""
        return max(atom.width for monomial, _ in self.terms for atom in monomial)

    @property
    def symbols(self) -> frozenset[Symbol]:
        """Every unknown the value depends on."""
        return frozenset(symbol for monomial, _ in self.terms for atom in monomial for symbol in _symbols(atom))

    def known_equal(self, other: Int) -> bool:
        """Whether the two values are equal for every run."""
        return same(self, other)

    def minimum(self, other: Int) -> Int:
        """The smaller of two values."""
        return _minimum(self, other)

    def promise(self, requirement: Requirement) -> bool:
        """Have a requirement checked when the program runs; False when that will not happen."""
        return next(iter(self.symbols)).promise(requirement)

    def run_time_number(self) -> Any:
        """The number that it is when the program runs; None when its unknowns are no numbers then."""
        return next(iter(self.symbols)).number_of(self)

    def run_time_sides(self) -> tuple[Any, Any] | None:
        """Two numbers to compare when the program runs, this one apart; None when its unknowns are no numbers then."""
        return next(iter(self.symbols)).sides_of(self)

    def bounds(self) -> Bounds:
        """The least and the greatest value that are known of it; None where nothing is."""
        below = lower_bound(-self)
        return lower_bound(self), None if below is None else -below

    def substitute(self, bindings: Mapping[str, Int]) -> Int:
        """The value with unknowns replaced by numbers; a number that breaks what was declared is an error."""
        total: Int = 0
        for monomial, coefficient in self.terms:
            product: Int = coefficient
            for atom in monomial:
                product = product * _substitute_atom(atom, bindings)
            total = total + product
        return total

    def __str__(self) -> str:
        hints = ["i64"] * (self.width == 64) + [f"div={self.divisibility}"] * (self.divisibility > 1)
        return "?{" + " ".join(hints) + "}" if hints else "?"

    def __repr__(self) -> str:
        return f"SymInt({expression(self)})"

    def __hash__(self) -> int:
        # hash(-1) is hash(-2): without this, dictionaries would have to ask whether -x is -2x.
        return hash(tuple([(monomial, None if times == -1 else times) for monomial, times in self.terms]))

    def __add__(self, other: object) -> Any:
        if isinstance(other, int):
            return _plus(self, other)
        return _sum(self.terms, other.terms) if isinstance(other, SymInt) else self._by_number(operator.add, other)

    __radd__ = __add__

    def __neg__(self) -> Int:
        return _times(self, -1)

    def __sub__(self, other: object) -> Any:
        return self + -other if isinstance(other, int | SymInt) else self._by_number(operator.sub, other)

    def __rsub__(self, other: object) -> Any:
        return -self + other if isinstance(other, int) else self._from_number(operator.sub, other)

    def __mul__(self, other: object) -> Any:
        if isinstance(other, int):
            return _times(self, other)
        if not isinstance(other, SymInt):
            return self._by_number(operator.mul, other)
        products = ((in_order(m1 + m2), c1 * c2) for (m1, c1), (m2, c2) in itertools.product(self.terms, other.terms))
        return _sum(tuple(products))

    __rmul__ = __mul__

    def __floordiv__(self, other: object) -> Any:
        return _divide(self, other) if isinstance(other, int | SymInt) else self._by_number(operator.floordiv, other)

    def __rfloordiv__(self, other: object) -> Any:
        return _divide(other, self) if isinstance(other, int) else self._from_number(operator.floordiv, other)

    def __mod__(self, other: object) -> Any:
        if isinstance(other, int | SymInt):
            return self - other * _divide(self, other)
        return self._by_number(operator.mod, other)

    def __rmod__(self, other: object) -> Any:
        if isinstance(other, int):
            return other - self * _divide(other, self)
        return self._from_number(operator.mod, other)

    def __and__(self, other: object) -> Any:
        return _bitwise("&", self, other) if isinstance(other, int | SymInt) else NotImplemented

    __rand__ = __and__

    def __or__(self, other: object) -> Any:
        return self + other - _bitwise("&", self, other) if isinstance(other, int | SymInt) else NotImplemented

    __ror__ = __or__

    def __xor__(self, other: object) -> Any:
        return _bitwise("^", self, other) if isinstance(other, int | SymInt) else NotImplemented

    __rxor__ = __xor__

    def _minus(self, other: object) -> Any:
        return (0 if same(self, other) else self - other) if isinstance(other, int | SymInt) else NotImplemented


def same(a: object, b: object) -> bool:
    """Whether two integers are the same expression, and so equal in every run."""
    if isinstance(a, SymInt) and isinstance(b, SymInt):
        return a is b or a.terms == b.terms
    return isinstance(a, int) and isinstance(b, int) and a == b


def expression(value: Int) -> str:
    """A symbolic integer written out, for messages."""
    if not isinstance(value, SymInt):
        return str(value)
    return " + ".join(_term_text(monomial, coefficient) for monomial, coefficient in value.terms)


def _operation_text(name: str, left: str, right: str) -> str:
    if name == "min":
        return f"min({left}, {right})"
    left, right = (f"({side})" if " " in side else side for side in (left, right))
    return f"({left} {name} {right})"


def _term_text(monomial: Monomial, coefficient: int) -> str:
    factors = [str(atom) for atom in monomial]
    return "*".join(factors if coefficient == 1 and factors else [str(coefficient), *factors])


def lower_bound(value: Int) -> int | None:
    """A number the value never goes below, when one is known."""
    if isinstance(value, int):
        return value
    if not isinstance(value, SymInt):
        return None
    total = 0
    for monomial, coefficient in value.terms:
        bounds = [_atom_lower_bound(atom) for atom in monomial]
        known = [bound for bound in bounds if bound is not None and bound >= 0]
        if len(known) < len(bounds) or (coefficient < 0 and monomial):
            return None
        total += coefficient * math.prod(known)
    return total


def _atom_lower_bound(atom: Atom) -> int | None:
    if isinstance(atom, Operation) or atom.lower is None:
        return atom.lower
    return -(-atom.lower // atom.divisor)


def _operation_lower_bound(name: str, a: Int, b: Int) -> int | None:
    left, right = lower_bound(a), lower_bound(b)
    if left is None:
        return None
    if name == "//" and isinstance(b, int) and b > 0:
        return left // b
    if name == "//":
        return 0 if left >= 0 and (right or 0) > 0 else None
    if right is None:
        return None
    return min(left, right) if name == "min" or min(left, right) < 0 else 0


def _symbols(atom: Atom) -> Iterable[Symbol]:
    if isinstance(atom, Symbol):
        return (atom,)
    sides = (side for side in (atom.left, atom.right) if isinstance(side, SymInt))
    return frozenset(symbol for side in sides for symbol in side.symbols)


def _substitute_atom(atom: Atom, bindings: Mapping[str, Int]) -> Int:
    if isinstance(atom, Operation):
        left, right = (
            side.substitute(bindings) if isinstance(side, SymInt) else side for side in (atom.left, atom.right)
        )
        return _apply(atom.name, left, right)
    value = bindings.get(atom.name)
    if value is None:
        return SymInt((((atom,), 1),))
    # Of another unknown only what it is a multiple of can be asked now.
    too_low = isinstance(value, int) and atom.lower is not None and value < atom.lower
    if not same(value % atom.divisor, 0) or too_low:
        raise DeclarationError(
            f"{atom.name} = {value} breaks what was declared of it",
            expected=f"a multiple of {atom.divisor}, at least {atom.lower}",
        )
    return value // atom.divisor


def _apply(name: str, left: Int, right: Int) -> Int:
    if isinstance(left, int) and isinstance(right, int):
        return _EVALUATE[name](left, right)
    if name == "//":
        return _divide(left, right)
    return _minimum(left, right) if name == "min" else _bitwise(name, left, right)


def terms_of(value: Int) -> Terms:
    """The terms of a symbolic integer; a number is a constant term."""
    return value.terms if isinstance(value, SymInt) else (((_CONSTANT, value),) if isinstance(value, int) else ())


def in_order(monomial: Iterable[Atom]) -> Monomial:
    """The one order in which a product is written."""
    return tuple(sorted(monomial, key=str))


def _plus(value: SymInt, number: int) -> Int:
    """The constant term, which comes first, is all that changes."""
    if number == 0:
        return value
    (first, constant), *others = value.terms
    if first != _CONSTANT:
        return SymInt(((_CONSTANT, number), *value.terms))
    constant += number
    return SymInt(((_CONSTANT, constant), *others)) if constant else SymInt(tuple(others))


def _times(value: SymInt, number: int) -> Int:
    """The same products in the same order."""
    if number == 0:
        return 0
    return value if number == 1 else SymInt(tuple((monomial, times * number) for monomial, times in value.terms))


def _sum(*parts: Terms) -> Int:
    """One normal form: terms with equal monomials are added, zeros vanish, a lone constant is a Python int."""
    if len(parts) == 1 and len(parts[0]) < 2:
        ((monomial, times),) = parts[0] or ((_CONSTANT, 0),)
        return SymInt(parts[0]) if monomial and times else times
    total: dict[Monomial, int] = {}
    for monomial, coefficient in itertools.chain(*parts):
        total[monomial] = total.get(monomial, 0) + coefficient
    terms = tuple(sorted(((m, c) for m, c in total.items() if c), key=lambda term: [str(atom) for atom in term[0]]))
    if not terms:
        return 0
    return terms[0][1] if terms[0][0] == _CONSTANT and len(terms) == 1 else SymInt(terms)


def _atom(name: str, left: Int, right: Int) -> SymInt:
    return SymInt((((Operation(name, left, right),), 1),))


def _divide(a: Int, b: Int) -> Int:
    """Floor division: the part that divides exactly leaves the quotient, the rest stays an operation."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    if same(a, b):
        return 1
    quotient, rest = _exact_part(terms_of(a), b)
    return quotient + (0 if same(rest, 0) else _divide_rest(rest, b))


def _exact_part(terms: Terms, divisor: Int) -> tuple[Int, Int]:
    """terms = divisor · quotient + rest; adding a multiple of the divisor adds exactly that to a floor division."""
    divisor_terms = terms_of(divisor)
    if len(divisor_terms) > 1:
        return 0, _sum(terms)
    ((wanted, by),) = divisor_terms
    quotient: list[tuple[Monomial, int]] = []
    rest: list[tuple[Monomial, int]] = []
    for monomial, coefficient in terms:
        left = without(monomial, wanted)
        if left is None:
            rest.append((monomial, coefficient))
        else:
            quotient.append((left, coefficient // by))
            rest.append((monomial, coefficient % by))
    return _sum(tuple(quotient)), _sum(tuple(rest))


def without(monomial: Monomial, factor: Monomial) -> Monomial | None:
    """What is left of a product without some of its factors, if it has them."""
    remaining = list(monomial)
    for atom in factor:
        if atom not in remaining:
            return None
        remaining.remove(atom)
    return tuple(remaining)


def _divide_rest(rest: Int, divisor: Int) -> Int:
    if _at_least(rest, 0) and _at_least(divisor - rest, 1):
        return 0
    if same(rest, -1) and _at_least(divisor, 1):
        return -1
    if isinstance(rest, SymInt) and isinstance(divisor, int) and divisor > 0:
        # What is below a common factor of the rest does not reach the quotient: (8*x + 3) // 16 is x // 2.
        constant = dict(rest.terms).get(_CONSTANT, 0)
        rest = rest - constant % math.gcd(_content(rest - constant), divisor)
    common = math.gcd(_content(rest), _content(divisor))
    if common > 1:
        return _divide(_scale_down(rest, common), _scale_down(divisor, common))
    inner = _lone_atom(rest)
    if isinstance(inner, Operation) and inner.name == "//" and isinstance(divisor, int) and divisor > 0:
        by = inner.right
        return _divide(inner.left, by * divisor) if isinstance(by, int) and by > 0 else _atom("//", rest, divisor)
    return _atom("//", rest, divisor)


def _lone_atom(value: Int) -> Atom | None:
    terms = terms_of(value)
    return terms[0][0][0] if len(terms) == 1 and len(terms[0][0]) == 1 and terms[0][1] == 1 else None


def _content(value: Int) -> int:
    return abs(value) if isinstance(value, int) else value.divisibility


def _scale_down(value: Int, by: int) -> Int:
    if not isinstance(value, SymInt):
        return value // by
    return SymInt(tuple((monomial, times // by) for monomial, times in value.terms))


def _minimum(a: Int, b: Int) -> Int:
    difference = a - b
    if _at_least(difference, 0):
        return b
    if _at_least(-difference, 0):
        return a
    common = math.gcd(_content(a), _content(b))
    left, right = sorted((_scale_down(a, common), _scale_down(b, common)), key=expression)
    return _times(_atom("min", left, right), common)


def _bitwise(name: str, a: Int, b: Int) -> Int:
    """The low bits both sides are known to lack are shifted out, so that they stay known."""
    if same(a, 0) or same(b, 0):
        return a + b if name == "^" else 0
    low_bits = [_content(side) & -_content(side) for side in (a, b)]
    shift = max(low_bits) if name == "&" else _common_low_bits(a, b, low_bits)
    left, right = sorted((a // shift, b // shift), key=expression)
    kept = 0 if name == "&" else a % shift + b % shift
    if same(left, 0) or same(right, 0):
        return kept if name == "&" else (left + right) * shift + kept
    if isinstance(left, int) and isinstance(right, int):
        return _EVALUATE[name](left, right) * shift + kept
    return _times(_atom(name, left, right), shift) + kept


def _common_low_bits(a: Int, b: Int, low_bits: list[int]) -> int:
    """Where one side has no bits, the other's stay as they are; they are taken apart when they are known."""
    low = (a if low_bits[0] < low_bits[1] else b) % max(low_bits)
    return max(low_bits) if isinstance(low, int) else min(low_bits)


def _at_least(value: Int, bound: int) -> bool:
    known = lower_bound(value)
    return known is not None and known >= bound
