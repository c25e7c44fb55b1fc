"""Wave operations by LLVM's intrinsics: lanes, ballots, moves between lanes, sums of a wave.

Input: values of a kernel, at the place of a builder. Output: values. Everything here works on 32 bits; floats are moved
by their bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from triptych.ir.builder import Builder
from triptych.ir.handles import Value
from triptych.ir.types import TypeOrText, int_width, is_float
from triptych.targets.amdgpu.description import instructions as isa
from triptych.targets.amdgpu.description.chips import Chip
from triptych.targets.amdgpu.passes.lane_moves import (
    WAVE_DOWN,
    WAVE_UP,
    Dpp,
    HalvesExchanged,
    Move,
    ReadLane,
    RowsExchanged,
    Swizzle,
    ladder,
)

_SAME_PLACES = (0x76543210, 0xFEDCBA98 - (1 << 32))
"""Of `permlanex16`: lane i of a row reads lane i of the other."""
_OWN = 0xE4
"""The control of DPP by which the four lanes of a quad read themselves."""
_HALF = 32
ACQUIRE_RELEASE = 6
"""LLVM's number of the ordering of a fence."""
WAVE = "wavefront"
"""LLVM's scope of the threads of a wave."""
Combine = Callable[[Value, Value], Value]
"""Of two values of 32 bits, both integers."""


class WaveCode:
    """Builds at the place of a builder, for one chip."""

    def __init__(self, builder: Builder, chip: Chip, lanes: int) -> None:
        """`lanes`: of a warp, which is a wave or half of one."""
        self.builder = builder
        self.chip = chip
        self.lanes = lanes
        self.mask_type = f"i{lanes}"
        self._is_half = lanes < chip.lanes

    def call(self, intrinsic: isa.Intrinsic, operands: Sequence[Value], kind: TypeOrText) -> Value:
        return self.builder.intrinsic(intrinsic.name, operands, [kind]).result

    def effect(self, intrinsic: isa.Intrinsic, operands: Sequence[Value] = ()) -> None:
        self.builder.intrinsic(intrinsic.name, operands)

    def number(self, value: int, kind: TypeOrText = "i32") -> Value:
        return self.builder.constant(value, kind)

    def truth(self, *, holds: bool) -> Value:
        return self.builder.constant(int(holds), "i1")

    # lanes ------------------------------------------------------------------------------------------------------
    def lane(self) -> Value:
        """The number of the lane in its warp."""
        own = self._lane_of_wave()
        return self._and(own, self.lanes - 1) if self._is_half else own

    def first_active(self) -> Value:
        """Whether this is the first of the lanes of the warp that come here."""
        low, high = self._halves(self._ballot(self.truth(holds=True)))
        before = self._lanes_below(low, high)
        if self._is_half:
            in_low = self.call(isa.COUNT_LOW, (low, self.number(0)), "i32")
            in_high = self.call(isa.COUNT_HIGH, (high, self.number(0)), "i32")
            before = self.builder.select(self._is_upper(), in_high, in_low, "i32")
        return self.builder.compare("eq", before, self.number(0))

    def ballot(self, condition: Value) -> Value:
        """A bit for each lane of the warp that comes here and has the condition."""
        found = self._ballot(condition)
        if not self._is_half:
            return found
        low, high = self._halves(found)
        return self.builder.select(self._is_upper(), high, low, "i32")

    def _ballot(self, condition: Value) -> Value:
        if self.chip.lanes > _HALF:
            return self.call(isa.BALLOT_64, (condition,), "i64")
        return self.call(isa.BALLOT_32, (condition,), "i32")

    def _halves(self, mask: Value) -> tuple[Value, Value]:
        """Of a mask of lanes of the wave; the same twice where there is one."""
        low = self.builder.resized(mask, "i32")
        if self.chip.lanes == _HALF:
            return low, low
        above = self.builder.value("arith.shrui", (mask, self.number(_HALF, "i64")), "i64")
        return low, self.builder.resized(above, "i32")

    def _lane_of_wave(self) -> Value:
        return self._lanes_below(self.number(-1), self.number(-1))

    def _lanes_below(self, low: Value, high: Value) -> Value:
        """How many bits of a mask, given in halves, belong to lanes of the wave before this one."""
        count = self.call(isa.COUNT_LOW, (low, self.number(0)), "i32")
        return self.call(isa.COUNT_HIGH, (high, count), "i32") if self.chip.lanes > _HALF else count

    def _is_upper(self) -> Value:
        """Whether the lane is in the upper half of its wave."""
        return self.builder.compare("uge", self._lane_of_wave(), self.number(_HALF))

    def _and(self, value: Value, bits: int) -> Value:
        return self.builder.value("arith.andi", (value, self.number(bits)), "i32")

    # moves ------------------------------------------------------------------------------------------------------
    def of_lane(self, value: Value, lane: Value) -> Value:
        """What any lane of the warp has, each reading one of its own choice."""
        if self._is_half:
            half = self._and(self._lane_of_wave(), _HALF)
            lane = self.builder.value("arith.ori", (half, lane), "i32")
        address = self.builder.value("arith.shli", (lane, self.number(2)), "i32")
        return self._by_bits(value, lambda bits: self.call(isa.BPERMUTE, (address, bits), "i32"))

    def moved(self, value: Value, move: Move) -> Value:
        return self._by_bits(value, lambda bits: self._moved(bits, move))

    def first_of(self, value: Value) -> Value:
        """What the first of the lanes of the wave that come here has."""
        return self._by_bits(value, lambda bits: self.call(isa.READ_FIRST_LANE, (bits,), "i32"))

    def stays_here(self, value: Value) -> Value:
        """The same value, which LLVM computes where this is, and not where it is used."""
        return self.moved(value, Dpp(_OWN))

    def _moved(self, bits: Value, move: Move) -> Value:
        if isinstance(move, Swizzle):
            return self.call(isa.SWIZZLE, (bits, self.number(move.offset)), "i32")
        if isinstance(move, ReadLane):
            return self.call(isa.READ_LANE, (bits, self.number(move.lane)), "i32")
        if isinstance(move, RowsExchanged):
            low, high = map(self.number, _SAME_PLACES)
            no = self.truth(holds=False)
            return self.call(isa.PERMLANE_X16, (bits, bits, low, high, no, no), "i32")
        keeps_own = move.control in (WAVE_DOWN, WAVE_UP)
        old = bits if keeps_own else self.number(0)
        masks = (self.number(0xF), self.number(0xF), self.truth(holds=not keeps_own))
        return self.call(isa.DPP, (old, bits, self.number(move.control), *masks), "i32")

    def _by_bits(self, value: Value, move: Callable[[Value], Value]) -> Value:
        if is_float(value.type):
            moved = move(self.builder.value("arith.bitcast", (value,), "i32"))
            return self.builder.value("arith.bitcast", (moved,), value.type)
        if int_width(value.type) == 32:
            return move(value)
        halves = [self.builder.value("arith.trunci", (value,), "i32")]
        above = self.builder.value("arith.shrui", (value, self.number(32, "i64")), "i64")
        halves.append(self.builder.value("arith.trunci", (above,), "i32"))
        low, high = (self.builder.resized(move(half), "i64") for half in halves)
        shifted = self.builder.value("arith.shli", (high, self.number(32, "i64")), "i64")
        return self.builder.value("arith.ori", (low, shifted), "i64")

    # sums -------------------------------------------------------------------------------------------------------
    def reduced(self, bits: Value, identity: Value, combine: Combine) -> Value:
        """The values of the lanes that come here, combined; every lane gets the result.

        The others take part with a value that changes nothing: while whole waves run, all lanes do.
        """
        total = self.call(isa.SET_INACTIVE, (bits, identity), "i32")
        moves = ladder(self.chip, self.lanes)
        for move in moves:
            if isinstance(move, HalvesExchanged):
                total = combine(*self._both_halves(total))
            else:
                total = combine(total, self._moved(total, move))
        if self.lanes > _HALF and not isinstance(moves[-1], HalvesExchanged):
            total = combine(*(self._moved(total, ReadLane(lane)) for lane in (0, _HALF)))
        return self.call(isa.WHOLE_WAVE, (total,), "i32")

    def _both_halves(self, value: Value) -> tuple[Value, Value]:
        no = self.truth(holds=False)
        both = self.builder.intrinsic(
            isa.PERMLANE_SWAP.name, (value, value, no, no), ["!llvm.struct<(i32, i32)>"]
        ).result
        first, second = (
            self.builder.value("llvm.extractvalue", (both,), "i32", {"position": self.builder.integers((place,))})
            for place in (0, 1)
        )
        return first, second
