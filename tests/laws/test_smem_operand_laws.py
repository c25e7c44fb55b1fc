"""Laws of operands in shared memory: the rule that instructions read them by names the byte that a layout names.

The layouts are tiled with every atom, in both orders; the oracle is the swizzle of the layout's own index. Registers of
a warpgroup are those of four warps one below the other.
"""

from __future__ import annotations

import itertools
import random

import pytest

from triptych.kernel_ir.dialects.mma import DEPTH_BYTES, WARP_MMAS, WARPGROUP_MMAS, WarpgroupMma
from triptych.kernel_ir.dialects.smem_operands import (
    K_MAJOR,
    MN_MAJOR,
    WIDE_PIECES,
    SmemOperand,
    byte_swizzle,
    pattern_bytes,
    smem_atom,
    smem_operand,
)
from triptych.layout import Layout, composition, cosize, size, slice_and_offset, tile_to_shape, zipped_divide
from triptych.ptxsim.smem_matrices import tcgen05_matrix

LEGAL = [(major, bits, 16) for major in (K_MAJOR, MN_MAJOR) for bits in range(4)]
LEGAL += [(K_MAJOR, bits, width) for bits in range(4) for width in (8, 32)]
LEGAL += [(MN_MAJOR, bits, 8) for bits in range(4)] + [(MN_MAJOR, WIDE_PIECES, 32)]
TILES = [(64, 32), (128, 64), (192, 128), (256, 64)]


def number_of(value: object) -> int:
    assert isinstance(value, int)
    return value


@pytest.mark.parametrize(("major", "bits", "width"), LEGAL)
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_instructions_read_what_layouts_say(major: int, bits: int, width: int, order: tuple[int, int]) -> None:
    element, depth, drawn = width // 8, DEPTH_BYTES * 8 // width, random.Random(major * 64 + bits * 8 + width)
    for rows, columns in TILES:
        atom = smem_atom(major, bits, width)
        if columns % number_of(size(atom, [1])) or rows % number_of(size(atom, [0])):
            continue
        plain = tile_to_shape(atom, (rows, columns), order).outer
        for taken in (64, rows, 8):
            slices = zipped_divide(plain, (taken, depth))
            places = list(itertools.product(range(rows // taken), range(columns // depth)))
            for m, k in drawn.sample(places, min(len(places), 3)):
                part, offset = slice_and_offset(((None, None), (m, k)), slices)
                operand = smem_operand(part, element, major, bits)
                assert operand is not None, (part, rows, columns)
                start = number_of(offset) * element
                for _ in range(16):
                    row, column = drawn.randrange(taken), drawn.randrange(depth)
                    index = number_of(plain((m * taken + row, k * depth + column)))
                    assert operand.address(start, row, column, element) == byte_swizzle(bits)(index * element)


@pytest.mark.parametrize(("major", "number", "width"), LEGAL)
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("tile", TILES)
def test_bits_of_descriptors_say_what_layouts_say(
    major: int, number: int, width: int, order: tuple[int, int], tile: tuple[int, int]
) -> None:
    """Every element of every slice; the simulator decodes the bits, and knows no layouts."""
    element, depth = width // 8, DEPTH_BYTES * 8 // width
    atom = smem_atom(major, number, width)
    if any(extent % number_of(size(atom, [mode])) for mode, extent in enumerate(tile)) or tile[1] % depth:
        return
    plain = tile_to_shape(atom, tile, order).outer
    swizzle = byte_swizzle(number)
    slices = zipped_divide(plain, (tile[0], depth))
    for k in range(tile[1] // depth):
        part, offset = slice_and_offset(((None, None), (0, k)), slices)
        operand = smem_operand(part, element, major, number)
        assert operand is not None
        start = number_of(offset) * element
        matrix = tcgen05_matrix(operand.umma_descriptor() | start >> 4)
        places = matrix.places(tile[0], depth, element, is_transposed=major == MN_MAJOR)
        for row, column in itertools.product(range(tile[0]), range(depth)):
            index = number_of(plain((row, k * depth + column)))
            assert places[row, column] == swizzle(index * element)


@pytest.mark.parametrize(
    "layout",
    [
        Layout((64, 16), (72, 1)),  # rows that are padded
        Layout((64, 16), (1, 64)),  # contiguous along the other mode
        Layout((64, 16), (64, 2)),  # every second element
        Layout(((8, 8), 16), ((64, 516), 1)),  # eight rows that are no whole chunks apart from the next eight
        Layout(((4, 16), 16), ((64, 1024), 1)),  # four rows together
    ],
)
def test_other_layouts_are_none(layout: Layout) -> None:
    assert smem_operand(layout, 2, K_MAJOR, 3) is None


def test_a_descriptor() -> None:
    operand = smem_operand(Layout(((8, 8), 16), ((64, 512), 1)), 2, K_MAJOR, 3)
    assert operand == SmemOperand(K_MAJOR, 3, 16, 1024)
    assert operand.descriptor() == 1 << 62 | 64 << 32 | 1 << 16
    assert pattern_bytes(3) == 1024


@pytest.mark.parametrize("found", list(WARPGROUP_MMAS.values())[::41], ids=lambda one: one.name)
def test_registers_are_those_of_four_warps(found: WarpgroupMma) -> None:
    _, n, k = found.shape_mnk
    kind = "f32" if found.accumulator == "f16" and found.a != "f16" else found.accumulator
    warp = WARP_MMAS[f"m16n8k{k}.{kind}.{found.a}.{found.b}.{kind}"]
    for lane, value in itertools.product(range(128), range(number_of(size(found.tv_c, [1])))):
        place = number_of(warp.tv_c((lane % 32, value % 4)))
        assert found.tv_c((lane, value)) == (lane // 32 * 16 + place % 16) + 64 * (place // 16 + 8 * (value // 4))
    for lane, value in itertools.product(range(128), range(number_of(size(found.tv_a, [1])))):
        place = number_of(warp.tv_a((lane % 32, value)))
        assert found.tv_a((lane, value)) == (lane // 32 * 16 + place % 16) + 64 * (place // 16)
    assert cosize(composition(found.tv_b, Layout((1, n * k), (0, 128)))) == n * k
