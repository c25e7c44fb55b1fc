"""The run-time numbers inside a layout: taken out to cross into another region, and put back.

Input: a layout or nested tuple of integers. Output: the numbers behind its unknowns. Nothing is computed: the exact
integers of the algebra stay what they are, over numbers that the other side has received.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from triptych.cute.dynamic.symbol_emission import TracedSymbol
from triptych.cute.dynamic.traced_integers import trusted_int
from triptych.layout import ComposedLayout, Int, Layout, ScaledBasis, Swizzle, SymInt, substitute, sym_int
from triptych.layout.tuples import leaves
from triptych.metastage.values.aggregates import register_view
from triptych.metastage.values.scalars import Numeric
from triptych.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Unknown:
    """A run-time number of a layout: its name there, and all that was declared of it."""

    name: str
    number: Numeric
    divisibility: int
    bounds: tuple[int, int]

    def facts(self) -> tuple[Any, ...]:
        """What is known of it while tracing."""
        return type(self.number), self.divisibility, self.bounds

    def anew(self, number: Numeric) -> Int:
        """The same integer over a number that the other side has received."""
        return trusted_int(number, self.divisibility, lower=self.bounds[0], upper=self.bounds[1])


def unknowns(*values: object) -> list[Unknown]:
    """The run-time numbers of layouts and integers, each once, in the order of their appearance."""
    symbols: dict[str, list[TracedSymbol]] = {}
    for value in values:
        for integer in _integers(value):
            for symbol in sorted(integer.symbols, key=str):
                if isinstance(symbol, TracedSymbol):
                    symbols.setdefault(symbol.name, []).append(symbol)
    return [_unknown(same) for same in symbols.values()]


def rebuilt(value: object, known: Sequence[Unknown], numbers: Sequence[Numeric]) -> Any:
    """The same layout or integers over other numbers."""
    fresh = {unknown.name: unknown.anew(number) for unknown, number in zip(known, numbers, strict=True)}
    return substitute(value, fresh)


def anonymous(value: object, known: Sequence[Unknown]) -> Any:
    """The layout or integers without their numbers: equal for two that differ only in those."""
    names = {
        unknown.name: sym_int(64, unknown.divisibility, symbol=f"#{place}", lower=unknown.bounds[0])
        for place, unknown in enumerate(known)
    }
    return substitute(value, names)


def _integers(value: object) -> Iterator[SymInt]:
    match value:
        case SymInt():
            yield value
        case tuple():
            for leaf in leaves(value):
                yield from _integers(leaf)
        case ScaledBasis():
            yield from _integers(value.value)
        case Layout():
            yield from _integers(value.shape)
            yield from _integers(value.stride)
        case ComposedLayout():
            for part in (value.inner, value.offset, value.outer):
                yield from _integers(part)


def _unknown(same: list[TracedSymbol]) -> Unknown:
    """One number may have been declared in several ways: all of them hold."""
    lower = max(symbol.values[0] for symbol in same)
    upper = min(symbol.values[1] for symbol in same)
    divisor = math.lcm(*(symbol.divisor for symbol in same))
    return Unknown(same[0].name, same[0].number, divisor, (lower, upper))


class LayoutCrossing:
    """How a layout, or an integer of one, crosses a branch, a loop or a launch: as the numbers inside it."""

    __slots__ = ("_value",)

    def __init__(self, value: object) -> None:
        self._value = value

    def __str__(self) -> str:
        return str(self._value)

    def __extract_mlir_values__(self) -> list[Numeric]:
        return [unknown.number for unknown in unknowns(self._value)]

    def __new_from_mlir_values__(self, values: Sequence[Numeric]) -> Any:
        return rebuilt(self._value, unknowns(self._value), values)

    def __static_part__(self) -> tuple[Any, ...]:
        inside = unknowns(self._value)
        return anonymous(self._value, inside), tuple(unknown.facts() for unknown in inside)


for _kind in (Layout, ComposedLayout, SymInt, ScaledBasis, Swizzle):
    register_view(_kind, LayoutCrossing)
