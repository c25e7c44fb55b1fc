"""Mixed-radix digits of symbolic integers, as a machine computes them: `x - d*(x//d)` is the remainder x % d.

Input: a polynomial in its normal form, which has no remainders. Output: terms of the same value that have them.
The normal form proves things; this form has the digits of a coordinate back, which are small and cheap.
"""

from __future__ import annotations

from collections.abc import Iterator

from triptych.layout.integers import Int
from triptych.layout.symbolic import Monomial, Operation, SymInt, Terms, in_order, terms_of, without


def digits(value: SymInt) -> Terms:
    """The terms with remainders; wherever a quotient x//d stands beside x, x becomes d*(x//d) + x%d."""
    terms = dict(value.terms)
    for quotient, dividend, divisor in _divisions(value):
        for rest in _companions(terms, quotient, divisor):
            _split(terms, rest, quotient, dividend, divisor)
    return tuple((monomial, coefficient) for monomial, coefficient in terms.items() if coefficient)


def sum_of(terms: Terms) -> Int:
    """Terms that may have remainders, as an integer in the normal form, which has none."""
    total: Int = 0
    for monomial, coefficient in terms:
        value: Int = coefficient
        for atom in monomial:
            if isinstance(atom, Operation) and atom.name == "%":
                value = value * (atom.left % atom.right)
            else:
                value = value * SymInt((((atom,), 1),))
        total = total + value
    return total


def balanced(difference: SymInt, constant_left: bool) -> tuple[Int, Int]:
    """Two integers with this difference: digits that are subtracted from the left stand on the right."""
    left: list[tuple[Monomial, int]] = []
    right: list[tuple[Monomial, int]] = []
    for monomial, coefficient in digits(difference):
        if coefficient > 0 if monomial else constant_left:
            left.append((monomial, coefficient))
        else:
            right.append((monomial, -coefficient))
    return sum_of(tuple(left)), sum_of(tuple(right))


def _divisions(value: SymInt) -> Iterator[tuple[Operation, Int, Int]]:
    """Every quotient with what it divides by what; x//32 after x//8 divides x//8 by 4."""
    found = {atom for monomial, _ in value.terms for atom in monomial if isinstance(atom, Operation)}
    smaller: dict[Int, Operation] = {}
    # A longer text is a larger divisor, or a quotient that has a shorter one inside.
    for quotient in sorted((atom for atom in found if atom.name == "//"), key=lambda atom: (len(atom.text), atom.text)):
        before = smaller.get(quotient.left)
        if before is not None and _divides(before.right, quotient.right):
            yield quotient, SymInt((((before,), 1),)), quotient.right // before.right
        else:
            yield quotient, quotient.left, quotient.right
        smaller[quotient.left] = quotient


def _divides(small: Int, large: Int) -> bool:
    return isinstance(small, int) and isinstance(large, int) and small > 0 and large % small == 0


def _companions(terms: dict[Monomial, int], quotient: Operation, divisor: Int) -> list[Monomial]:
    """The factors that stand beside divisor times quotient."""
    if len(terms_of(divisor)) != 1:
        return []
    ((factor, _),) = terms_of(divisor)
    beside = (without(monomial, (quotient, *factor)) for monomial in terms)
    return [rest for rest in beside if rest is not None]


def _split(terms: dict[Monomial, int], rest: Monomial, quotient: Operation, dividend: Int, divisor: Int) -> None:
    parts = [(in_order((*rest, *monomial)), coefficient) for monomial, coefficient in terms_of(dividend)]
    scale = _scale(terms, parts)
    if scale == 0:
        return
    for monomial, coefficient in parts:
        terms[monomial] = terms.get(monomial, 0) - scale * coefficient
    ((factor, times),) = terms_of(divisor)
    whole = in_order((*rest, *factor, quotient))
    terms[whole] = terms.get(whole, 0) + scale * times
    remainder = in_order((*rest, Operation("%", dividend, divisor)))
    terms[remainder] = terms.get(remainder, 0) + scale


def _scale(terms: dict[Monomial, int], parts: list[tuple[Monomial, int]]) -> int:
    """How many times the parts, apart from a constant, are among the terms; 0 when they are not all there."""
    anchors = [part for part in parts if part[0]] or parts
    scales = {divmod(terms.get(monomial, 0), coefficient) for monomial, coefficient in anchors}
    scale, rest = scales.pop()
    return 0 if scales or rest else scale


def constant_and_rest(value: SymInt) -> tuple[int, SymInt]:
    """The constant term, which comes first, and the others."""
    (first, constant), *others = value.terms
    return (constant, SymInt(tuple(others))) if first == () else (0, value)


def multiples_in(value: Int, factor: int) -> Int:
    """The part of a value that is seen to be multiples of a factor; the rest is what is left."""
    constant = dict(terms_of(value)).get((), 0)
    whole = tuple((monomial, number) for monomial, number in terms_of(value) if monomial and number % factor == 0)
    return constant // factor * factor + (SymInt(whole) if whole else 0)
