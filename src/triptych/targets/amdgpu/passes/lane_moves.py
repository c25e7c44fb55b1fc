"""Lane moves: how lanes of a wave read each other's registers, by the cheapest instruction for each exchange.

Input: a shuffle whose distance and bounds are known, and a chip. Output: the instruction with its control, as data.
DPP is part of an arithmetic instruction, or one move; a swizzle goes through LDS hardware without an address; anything
else is a `bpermute`, which takes an address for each lane.
"""

from __future__ import annotations

from triptych.support.dataclass import dataclass
from triptych.targets.amdgpu.description.chips import Chip, Feature

QUAD_PERM, ROW_ROTATE, WAVE_DOWN, WAVE_UP = 0x00, 0x120, 0x130, 0x138
ROW_MIRROR, ROW_HALF_MIRROR, ROW_XMASK = 0x140, 0x141, 0x160
"""Controls of DPP: four lanes in any order; rows of 16 rotated; the wave moved by one lane; rows mirrored, halves of
rows mirrored; lanes exchanged by a mask."""
_HALF = 32
"""Lanes that a swizzle works on."""


@dataclass(frozen=True, slots=True)
class Dpp:
    """`update.dpp`: where a lane has no source it keeps its own value."""

    control: int


@dataclass(frozen=True, slots=True)
class Swizzle:
    """`ds_swizzle` in bit mode, in each half of 32: lane `((i & and) | or) ^ xor`."""

    offset: int


@dataclass(frozen=True, slots=True)
class RowsExchanged:
    """`permlanex16`: each lane reads the same place of the other row of 16."""


@dataclass(frozen=True, slots=True)
class HalvesExchanged:
    """`permlane32_swap`: each half of a wave of 64 gets both, in two registers; where the order does not matter."""


@dataclass(frozen=True, slots=True)
class ReadLane:
    """`readlane`: all read one lane."""

    lane: int


Move = Dpp | Swizzle | RowsExchanged | ReadLane
"""For any value."""


def cheapest(kind: str, offset: int, clamp: int, chip: Chip, lanes: int) -> Move | None:
    """The instruction for a shuffle in a warp of so many lanes; None for a `bpermute`, which does all of them."""
    everything = lanes - 1
    segments, bound = clamp >> 8 & everything, clamp & everything
    offset &= everything
    group = _group(segments, lanes)
    if group is None:
        return None
    if kind == "bfly" and bound == everything and offset < group:
        return exchange(offset, chip)
    if kind == "idx" and bound == everything:
        return _broadcast(offset & (group - 1), group, chip)
    if group == chip.lanes and offset == 1 and Feature.MFMA in chip.features:
        if kind == "down" and bound == everything:
            return Dpp(WAVE_DOWN)
        if kind == "up" and bound == 0:
            return Dpp(WAVE_UP)
    return None


def _group(segments: int, lanes: int) -> int | None:
    """The lanes of a segment whose numbers share the bits of a mask; None for masks that are no upper bits."""
    group = (~segments & (lanes - 1)) + 1
    return group if group & (group - 1) == 0 else None


def exchange(mask: int, chip: Chip) -> Move | None:
    """Lanes whose numbers differ in these bits exchange their values."""
    if mask < 4:
        return Dpp(QUAD_PERM | sum((lane ^ mask) << 2 * lane for lane in range(4)))
    if mask == 7:
        return Dpp(ROW_HALF_MIRROR)
    if mask == 15:
        return Dpp(ROW_MIRROR)
    if mask == 8:
        return Dpp(ROW_ROTATE + 8)
    if mask < 16 and Feature.ROW_XMASK in chip.features:
        return Dpp(ROW_XMASK + mask)
    if mask == 16 and Feature.PERMLANE_X16 in chip.features:
        return RowsExchanged()
    return Swizzle(mask << 10 | (_HALF - 1)) if mask < _HALF else None


def _broadcast(lane: int, group: int, chip: Chip) -> Move | None:
    """All lanes of each group read one."""
    if group == chip.lanes:
        return ReadLane(lane)
    if group <= 4:
        return Dpp(QUAD_PERM | sum((own & ~(group - 1) | lane) << 2 * own for own in range(4)))
    if group <= _HALF:
        return Swizzle(lane << 5 | (_HALF - group))
    return None


def ladder(chip: Chip, lanes: int) -> tuple[Move | HalvesExchanged, ...]:
    """The exchanges by which each lane of a warp gets the sum of all, or of half a wave where nothing exchanges halves.

    Behind the first two all four lanes of a quad have the same, so a mirrored half exchanges quads; and so on.
    """
    pairs = (exchange(1, chip), exchange(2, chip), Dpp(ROW_HALF_MIRROR), Dpp(ROW_MIRROR), exchange(16, chip))
    moves = tuple(move for move in pairs if move is not None)
    swaps = Feature.PERMLANE_SWAP in chip.features and lanes > _HALF
    return (*moves, HalvesExchanged()) if swaps else moves
