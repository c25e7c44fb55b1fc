"""Sums and products of inline PTX that are rounded to zero, down or up, against rational numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.support.inline_ptx import INPUTS, THREADS, one_instruction, run

MODES = ("rz", "rm", "rp")
LARGEST = (2.0 - 2.0**-23) * 2.0**127
EDGES = [
    *(0.0, 1.0, 1.0 + 2.0**-23, 3.0, 2.0**-126, 2.0**-149, 2.0**-126 - 2.0**-149, 2.0**-75, 2.0**-100),
    *(2.0**24, 2.0**24 + 2.0, 2.0**127, LARGEST, 1.0 / 3.0, math.pi),
]
VALUES = [float(np.float32(sign * value)) for value in EDGES for sign in (1.0, -1.0)]
Operands = tuple[float, float, float]


def operands() -> list[Operands]:
    """All pairs of the values; every other third operand takes away what the product of the two is about."""
    found = []
    for i, (a, b) in enumerate(product(VALUES, VALUES)):
        lost = -a * b if abs(a * b) <= LARGEST else LARGEST
        found.append((a, b, float(np.float32(lost)) if i % 2 else VALUES[i * 7 % len(VALUES)]))
    return found


def terms(name: str, a: float, b: float, c: float) -> list[tuple[Fraction, bool]]:
    """What is added, each with whether its sign is negative."""
    signs = [math.copysign(1, value) < 0 for value in (a, b, c)]
    if name in ("mul", "fma"):
        first = (Fraction(a) * Fraction(b), signs[0] != signs[1])
        return [first] if name == "mul" else [first, (Fraction(c), signs[2])]
    second = (Fraction(b), signs[1]) if name == "add" else (-Fraction(b), not signs[1])
    return [(Fraction(a), signs[0]), second]


def rounded(number: Fraction, mode: str) -> float:
    """The next f32 in a direction."""
    if mode == "rz":
        mode = "rm" if number > 0 else "rp"
    if mode == "rp":
        return -rounded(-number, "rm")
    if number > LARGEST:
        return LARGEST
    size = abs(number)
    unit = Fraction(2) ** max(-149, size.numerator.bit_length() - size.denominator.bit_length() - 25)
    while size / unit >= 2**24:
        unit *= 2
    low = math.floor(number / unit) * unit
    return float(low) if low >= -LARGEST else -math.inf


def check(name: str, mode: str, values: Operands, bits: Any) -> None:
    found = float(np.uint32(bits).view(np.float32))
    added = terms(name, *values)
    number = sum(term for term, _ in added)
    assert found == rounded(Fraction(number), mode), (name, mode, values)
    if number == 0:
        negative = any if mode == "rm" else all
        assert (math.copysign(1, found) < 0) == negative(sign for _, sign in added), (name, mode, values)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "fma"])
def test_rounded_as_rational_numbers_are(name: str) -> None:
    cases = tuple(one_instruction(f"{name}.{mode}.f32") for mode in MODES)
    every = operands()
    for start in range(0, len(every), THREADS):
        block = [*every[start : start + THREADS], *every[:THREADS]][:THREADS]
        inputs = np.zeros((INPUTS, THREADS), np.uint64)
        inputs[:3] = np.array(block, np.float32).T.view(np.uint32)
        found = run(cases, inputs)
        for (n, mode), (thread, values) in product(enumerate(MODES), enumerate(block)):
            check(name, mode, values, found[n, 0, thread])
