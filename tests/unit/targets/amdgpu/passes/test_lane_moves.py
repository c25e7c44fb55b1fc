"""`lane_moves`: for every shuffle, the chosen instruction reads the lanes that a shuffle reads, by a model of each."""

from __future__ import annotations

import itertools

import pytest

from triptych.targets.amdgpu.description.chips import CHIPS, Chip, Feature
from triptych.targets.amdgpu.passes.lane_moves import (
    Dpp,
    HalvesExchanged,
    Move,
    ReadLane,
    RowsExchanged,
    Swizzle,
    cheapest,
    exchange,
    ladder,
)

KINDS = ("idx", "up", "down", "bfly")


def read_by_shuffle(kind: str, lane: int, offset: int, clamp: int, lanes: int) -> int:
    """As the definition of `shfl` in the PTX manual has it, with as many bits as there are lanes."""
    mask = lanes - 1
    bound, segments, offset = clamp & mask, clamp >> 8 & mask, offset & mask
    least, most = lane & segments, (lane & segments) | (bound & ~segments)
    read = {
        "up": lane - offset,
        "down": lane + offset,
        "bfly": lane ^ offset,
        "idx": least | (offset & ~segments),
    }[kind]
    there = read >= most if kind == "up" else read <= most
    return read if there else lane


def read_by_dpp(control: int, lane: int, lanes: int) -> int:
    """As the instruction set manuals have it; the own lane where there is no source."""
    row, place = lane & ~15, lane & 15
    if control < 0x100:
        return lane & ~3 | control >> 2 * (lane & 3) & 3
    if 0x121 <= control <= 0x12F:
        return row | (place + control - 0x120) % 16
    if control in (0x130, 0x138):
        read = lane + 1 if control == 0x130 else lane - 1
        return read if 0 <= read < lanes else lane
    if control == 0x140:
        return row | 15 - place
    if control == 0x141:
        return row | place & 8 | 7 - (place & 7)
    assert 0x160 <= control <= 0x16F
    return lane ^ control - 0x160


def read_by(move: Move | HalvesExchanged, lane: int, lanes: int) -> int:
    if isinstance(move, ReadLane):
        return move.lane
    if isinstance(move, RowsExchanged):
        return lane ^ 16
    if isinstance(move, HalvesExchanged):
        return lane ^ 32
    if isinstance(move, Dpp):
        return read_by_dpp(move.control, lane, lanes)
    ands, ors, exclusive = move.offset & 31, move.offset >> 5 & 31, move.offset >> 10
    return lane & 32 | ((lane & 31 & ands) | ors) ^ exclusive


def bounds(lanes: int) -> list[int]:
    """Whole waves, groups of a power of two, other bounds, and masks of segments that are no upper bits."""
    groups = [1 << n for n in range(1, lanes.bit_length())]
    ends = [lanes - 1 | (lanes - group) << 8 for group in groups]
    starts = [(lanes - group) << 8 for group in groups]
    return [*ends, *starts, lanes // 2 - 1, 5, 5 << 8 | lanes - 1]


@pytest.mark.parametrize("chip", CHIPS.values(), ids=lambda chip: chip.name)
def test_the_instruction_reads_what_the_shuffle_reads(chip: Chip) -> None:
    chosen = 0
    for kind, offset, clamp in itertools.product(KINDS, range(chip.lanes + 3), bounds(chip.lanes)):
        move = cheapest(kind, offset, clamp, chip, chip.lanes)
        if move is not None:
            chosen += 1
            wanted = [read_by_shuffle(kind, lane, offset, clamp, chip.lanes) for lane in range(chip.lanes)]
            assert [read_by(move, lane, chip.lanes) for lane in range(chip.lanes)] == wanted, (kind, offset, clamp)
    assert chosen > 3 * chip.lanes


@pytest.mark.parametrize("chip", CHIPS.values(), ids=lambda chip: chip.name)
def test_chips_have_the_controls(chip: Chip) -> None:
    """Of rows exchanged by a mask only RDNA knows, of waves moved by one lane only gfx9."""
    for kind, offset, clamp in itertools.product(KINDS, range(chip.lanes), bounds(chip.lanes)):
        move = cheapest(kind, offset, clamp, chip, chip.lanes)
        if isinstance(move, Dpp):
            assert (move.control >> 4 == 0x16) <= (Feature.ROW_XMASK in chip.features)
            assert (move.control >> 4 == 0x13) <= (Feature.MFMA in chip.features)
        assert isinstance(move, RowsExchanged) <= (Feature.PERMLANE_X16 in chip.features)


@pytest.mark.parametrize("chip", CHIPS.values(), ids=lambda chip: chip.name)
def test_the_ladder_sums_a_wave_or_its_halves(chip: Chip) -> None:
    numbers = [3**lane for lane in range(chip.lanes)]
    sums = list(numbers)
    for move in ladder(chip, chip.lanes):
        sums = [sums[lane] + sums[read_by(move, lane, chip.lanes)] for lane in range(chip.lanes)]
    halves = 1 if chip.lanes == 32 or Feature.PERMLANE_SWAP in chip.features else 2
    width = chip.lanes // halves
    assert sums == [sum(numbers[lane // width * width :][:width]) for lane in range(chip.lanes)]


@pytest.mark.parametrize("chip", [chip for chip in CHIPS.values() if chip.lanes == 64], ids=lambda chip: chip.name)
def test_two_warps_of_a_wave_read_their_own_lanes(chip: Chip) -> None:
    for kind, offset, clamp in itertools.product(KINDS, range(35), bounds(32)):
        move = cheapest(kind, offset, clamp, chip, 32)
        if move is not None:
            wanted = [lane & 32 | read_by_shuffle(kind, lane & 31, offset, clamp, 32) for lane in range(64)]
            assert [read_by(move, lane, 64) for lane in range(64)] == wanted, (kind, offset, clamp)
    assert not any(isinstance(move, HalvesExchanged) for move in ladder(chip, 32))


def test_what_is_exchanged_alone() -> None:
    assert exchange(1, CHIPS["gfx942"]) == Dpp(0xB1)
    assert exchange(2, CHIPS["gfx942"]) == Dpp(0x4E)
    assert exchange(4, CHIPS["gfx942"]) == Swizzle(4 << 10 | 31)
    assert exchange(4, CHIPS["gfx1100"]) == Dpp(0x164)
    assert exchange(32, CHIPS["gfx950"]) is None
