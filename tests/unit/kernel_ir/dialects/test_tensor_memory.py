"""Tensor memory: addresses, accumulators as layouts, and which thread loads what."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from triptych.kernel_ir.dialects import tensor_memory
from triptych.kernel_ir.dialects.tensor_memory import ACCESSES, COLUMNS, LANES, accumulator_layout, accumulator_words

Formula = Callable[[int, int], tuple[int, int]]
FORMULAS: dict[str, Formula] = {
    "32x32b": lambda t, r: (t, r),
    "16x64b": lambda t, r: (t // 4 + 8 * (t % 2), 2 * r + t // 2 % 2),
    "16x128b": lambda t, r: (t // 4 + 8 * (r % 2), 4 * (r // 2) + t % 4),
    "16x256b": lambda t, r: (t // 4 + 8 * (r // 2 % 2), 8 * (r // 4) + 2 * (t % 4) + r % 2),
}
"""As the manual of PTX has them: (thread, register) -> (lane, column)."""


@pytest.mark.parametrize(("shape", "repeat"), [*product(FORMULAS, (1, 2, 4, 8, 16, 32))])
def test_threads_and_registers_are_where_the_manual_says(shape: str, repeat: int) -> None:
    access = ACCESSES[shape]
    layout, registers = access.layout(repeat), access.registers_of(repeat)
    held = {(t, r): layout((t, r)) for t in range(32) for r in range(registers)}
    assert held == {(t, r): lane + LANES * column for t, r in held for lane, column in [FORMULAS[shape](t, r)]}
    every = {lane + LANES * column for lane in range(access.lanes) for column in range(access.columns * repeat)}
    assert set(held.values()) == every
    assert len(held) == len(every)


@pytest.mark.parametrize(
    ("m", "n", "ctas", "rest", "width", "text"),
    [
        (128, 256, 1, (1, 1), 32, "((128,256),1,1):((65536,1),0,0)"),
        (256, 256, 2, (1, 1), 32, "((128,256),1,1):((65536,1),0,0)"),
        (128, 128, 1, (1, 1, 2), 32, "((128,128),1,1,2):((65536,1),0,0,128)"),
        (64, 128, 1, (1, 1), 32, "(((16,4),128),1,1):(((65536,2097152),1),0,0)"),
        (64, 128, 1, (2, 1), 32, "(((16,4),128),2,1):(((65536,2097152),1),1048576,0)"),
        (128, 256, 2, (1, 1), 32, "((64,(128,2)),1,1):((65536,(1,4194304)),0,0)"),
        (128, 128, 1, (1, 1), 16, "((128,128),1,1):((131072,2),0,0)"),
    ],
)
def test_accumulators(m: int, n: int, ctas: int, rest: tuple[int, ...], width: int, text: str) -> None:
    """As the public headers print them."""
    assert str(accumulator_layout(accumulator_words(m, n, ctas), rest, width)) == text


@pytest.mark.parametrize(("m", "ctas"), [(64, 1), (128, 1), (128, 2), (256, 2)])
@pytest.mark.parametrize("n", [16, 64, 256])
def test_tiles_of_accumulators_have_words_of_their_own(m: int, ctas: int, n: int) -> None:
    words = accumulator_words(m, n, ctas)
    stages = min(2, COLUMNS // n)
    layout = accumulator_layout(words, (1, 1, stages), 32)
    places = [layout((i, 0, 0, s)) for s in range(stages) for i in range(m // ctas * n)]
    assert len(set(places)) == len(places)
    assert all(place & 0xFFFF < COLUMNS and place >> 16 < LANES for place in places)


@pytest.mark.parametrize(
    ("offset", "width", "step"),
    [(5, 32, 5), (1 << 16, 32, 1 << 16), (2, 16, 1), (1, 16, -(1 << 31)), (3, 8, -(1 << 30)), (4, 8, 1), (-1, 32, -1)],
)
def test_offsets_inside_a_word_are_in_the_highest_bits(offset: int, width: int, step: int) -> None:
    assert tensor_memory.address_step(offset, width) == step
