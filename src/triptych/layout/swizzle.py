"""Swizzles: XOR one field of index bits into another, to spread neighbours over memory banks.

Input: the field width, the number of low bits left alone, and the distance between the two fields.
Output: a permutation of indices that keeps every aligned block in place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import overload

from triptych.layout.errors import SwizzleError
from triptych.layout.integers import Int
from triptych.layout.program_numbers import answer_in_numbers
from triptych.layout.stretches import Parts, parted
from triptych.layout.symbolic import SymInt
from triptych.layout.term_parts import constant_and_rest


@dataclass(frozen=True, slots=True)
class Swizzle:
    """`bits` wide field at `base + shift` is XORed into the field at `base` (the other way when shift < 0)."""

    bits: int
    base: int
    shift: int

    def __post_init__(self) -> None:
        if self.bits < 0 or self.base < 0 or abs(self.shift) < self.bits:
            raise SwizzleError(
                "the two bit fields of a swizzle must not overlap",
                found=f"S<{self.bits},{self.base},{self.shift}>",
                expected="bits >= 0, base >= 0 and |shift| >= bits",
            )

    @property
    def is_static(self) -> bool:
        """A swizzle is always known now."""
        return True

    @overload
    def __call__(self, index: int) -> int: ...
    @overload
    def __call__(self, index: Int) -> Int: ...
    def __call__(self, index: Int) -> Int:
        permuted: Int = self._permuted(index) if isinstance(index, int) else answer_in_numbers(self._permuted, index)
        return permuted

    def _permuted(self, index: Int) -> Int:
        rest, added = self.parted(index)
        source = ((1 << self.bits) - 1) << (self.base + max(self.shift, 0))
        field = rest & source
        return (rest ^ (field >> self.shift if self.shift >= 0 else field << -self.shift)) + added

    def parted(self, index: Int) -> tuple[Int, Int]:
        """A symbolic index as what is permuted and what is only added: whole stretches, and places inside a unit."""
        if not isinstance(index, SymInt):
            return index, 0
        constant, computed = constant_and_rest(index)
        return self.parts(computed).moved(constant)

    def parts(self, index: SymInt) -> Parts:
        """What the parts of all indices are made of that differ by a constant from this one, which has none."""
        return parted(index, 1 << self.base, 1 << (self.base + abs(self.shift) + self.bits))

    def __str__(self) -> str:
        return f"S<{self.bits},{self.base},{self.shift}>"


def make_swizzle(b: int, m: int, s: int) -> Swizzle:
    """The swizzle S<b,m,s>."""
    return Swizzle(b, m, s)


def recast_swizzle(swizzle: Swizzle, new_bits: int, old_bits: int) -> Swizzle:
    """The same permutation of memory, seen in elements of another size; both sizes are powers of two apart."""
    if new_bits == old_bits or swizzle.bits == 0:
        return swizzle
    small, large = sorted((new_bits, old_bits))
    step = (large // small).bit_length() - 1
    if large != small << step:
        raise SwizzleError(
            "a swizzle is recast by powers of two", found=f"{swizzle} from {old_bits} to {new_bits} bits"
        )
    base = swizzle.base + (step if new_bits < old_bits else -step)
    if base < 0:
        raise SwizzleError(
            "the swizzle moves parts of the larger element",
            found=f"{swizzle} to {new_bits} bits",
            expected=f"at least {step} untouched low bits",
        )
    return Swizzle(swizzle.bits, base, swizzle.shift)
