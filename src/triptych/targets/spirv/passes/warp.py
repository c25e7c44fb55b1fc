"""Sub-groups, which are warps: the lane of a thread, ballots, the values of other lanes."""

from __future__ import annotations

from collections.abc import Sequence

from triptych.ir.builder import Builder
from triptych.ir.expressions import Expression
from triptych.ir.handles import Operation, Value
from triptych.ir.types import type_text
from triptych.kernel_ir.dialects.kernel_operations import body
from triptych.targets.spirv import LANES, builtins

_LANE_BITS = LANES.bit_length() - 1


class SubGroup:
    """A kernel, and a builder in it. What depends on the lane alone is computed once, where the kernel begins."""

    def __init__(self, kernel: Operation) -> None:
        self._kernel, self.builder = kernel, Builder(kernel.context)
        self._lane: Expression | None = None
        self._of_lanes: dict[tuple[int, ...], Expression] = {}

    def at(self, operation: Operation) -> SubGroup:
        """Build in front of an operation from now on."""
        self.builder.stand_before(operation)
        return self

    @property
    def lane(self) -> Expression:
        if self._lane is None:
            before, self.builder.insertion = self.builder.insertion, self.builder.at_start(body(self._kernel))
            zero = self.builder.constant(0, "i32")
            thread = builtins.value_of(self.builder, self._kernel, builtins.LOCAL_ID, [zero], "i64")
            self._lane = self.of(thread).convert("trunci", "i32") & (LANES - 1)
            self.builder.insertion = before
        return self._lane

    def of_lanes(self, numbers: Sequence[int]) -> Expression:
        """The number that each lane has: every bit of the lane adds its part, which is checked for all of them."""
        parts = [numbers[1 << bit] - numbers[0] for bit in range(_LANE_BITS)]
        for lane, number in enumerate(numbers):
            assert number == numbers[0] + sum(part for bit, part in enumerate(parts) if lane >> bit & 1), numbers
        key = tuple(numbers)
        if key not in self._of_lanes:
            lane_number = self.lane
            before, self.builder.insertion = self.builder.insertion, self.builder.after_value(lane_number.value)
            found = self.number(numbers[0])
            for bit, part in enumerate(parts):
                if part:
                    found = found + ((lane_number >> bit) & 1) * part
            self._of_lanes[key] = found
            self.builder.insertion = before
        return self._of_lanes[key]

    def of(self, value: Value) -> Expression:
        return Expression(self.builder, value, type_text(value.type))

    def ballot(self, predicate: Expression) -> Expression:
        """A bit for each lane that comes here and for which the condition holds."""
        given = [predicate.convert("extui", "i32").value]
        four = builtins.value_of(self.builder, self._kernel, builtins.BALLOT, given, "vector<4xi32>")
        return Expression(self.builder, four, "i32", 4).at(0)

    def members(self, mask: Expression) -> Expression:
        """Those of the lanes in a mask that come here: the last warp of a block may have fewer than there are bits."""
        return mask & self.ballot(self.number(0).equals(0))

    def read(self, value: Expression, lane: Expression) -> Expression:
        """The value of another lane, by its bits."""
        bits = value if value.element.startswith("i") else value.bits()
        wide = bits.convert("extui", "i32") if bits.width < LANES else bits
        given = [wide.value, lane.value]
        found = builtins.value_of(self.builder, self._kernel, builtins.shuffle(wide.element), given, wide.element)
        return self.of(found).convert("trunci", bits.element).bits_as(value.element)

    def number(self, value: int) -> Expression:
        return self.of(self.builder.constant(value, "i32"))

    def fence(self, function: str) -> None:
        builtins.call(self.builder, self._kernel, function, [self.number(builtins.LOCAL_AND_GLOBAL).value])
