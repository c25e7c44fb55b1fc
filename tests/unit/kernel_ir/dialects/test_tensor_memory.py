"""Tensor memory: addresses, accumulators as layouts, and which thread loads what."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from tests.support.places import places
from triptych.kernel_ir.dialects import tensor_memory
from triptych.kernel_ir.dialects.tensor_memory import (
    ACCESSES,
    COLUMNS,
    LANES,
    MOST_REGISTERS,
    accumulator_layout,
    accumulator_words,
)
from triptych.kernel_ir.dialects.umma import umma

Formula = Callable[[int, int], tuple[int, int]]
FORMULAS: dict[str, Formula] = {
    "32x32b": lambda t, r: (t, r),
    "16x64b": lambda t, r: (t // 4 + 8 * (t % 2), 2 * r + t // 2 % 2),
    "16x128b": lambda t, r: (t // 4 + 8 * (r % 2), 4 * (r // 2) + t % 4),
    "16x256b": lambda t, r: (t // 4 + 8 * (r // 2 % 2), 8 * (r // 4) + 2 * (t % 4) + r % 2),
}
"""As the manual of PTX has them: (thread, register) -> (lane, column)."""


EVERY_ACCESS = [
    (shape, repeat)
    for shape, repeat in product(FORMULAS, (1 << i for i in range(8)))
    if ACCESSES[shape].registers_of(repeat) <= MOST_REGISTERS
]
EVERY_SHAPE = [
    (m, n, ctas)
    for m, ctas in ((64, 1), (128, 1), (128, 2), (256, 2))
    for n in range(8, 257, 8)
    if umma(f"m{m}n{n}k16.f32.f16.f16.cta{ctas}")
]


@pytest.mark.parametrize(("shape", "repeat"), EVERY_ACCESS)
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


@pytest.mark.parametrize(("m", "n", "ctas"), EVERY_SHAPE)
@pytest.mark.parametrize("width", [32, 16])
def test_tiles_of_accumulators_have_words_of_their_own(m: int, n: int, ctas: int, width: int) -> None:
    """Every legal instruction, with as many stages as there are columns for."""
    words = accumulator_words(m, n, ctas)
    columns = n // 2 if m == LANES and ctas == 2 else n
    # Two tiles of 64 rows share their columns, so that there are one or an even number of them.
    for stages in (1, *range(2, COLUMNS // columns + 1, 2 if m == 64 else 1)):
        found = places(accumulator_layout(words, (1, 1, stages), width))
        each = 32 // width
        assert len(found) == stages * m // ctas * n == len(np.unique(found))
        lane, column = found // (each << 16), found % (each << 16)
        assert (column % each == 0).all()
        assert column.max() // each < COLUMNS
        assert lane.max() < LANES


@pytest.mark.parametrize("rest", [(2, 1), (1, 2), (2, 2), (4, 2)])
def test_tiles_of_64_rows_share_columns_and_no_words(rest: tuple[int, int]) -> None:
    """A second tile of 64 rows lies in the lanes that the first one leaves."""
    for n in range(8, 257, 8):
        if n * rest[0] * rest[1] // 2 <= COLUMNS:
            found = places(accumulator_layout(accumulator_words(64, n, 1), rest, 32))
            assert len(found) == len(np.unique(found))
            assert found.max() >> 16 < LANES
            assert (found & 0xFFFF).max() < COLUMNS


@pytest.mark.parametrize(
    ("offset", "width", "step"),
    [(5, 32, 5), (1 << 16, 32, 1 << 16), (2, 16, 1), (1, 16, -(1 << 31)), (3, 8, -(1 << 30)), (4, 8, 1), (-1, 32, -1)],
)
def test_offsets_inside_a_word_are_in_the_highest_bits(offset: int, width: int, step: int) -> None:
    assert tensor_memory.address_step(offset, width) == step
