"""Sub-groups, which are warps: the lane of a thread, ballots, the values of other lanes."""

from __future__ import annotations

from triptych.ir.builder import Builder
from triptych.ir.expressions import Expression
from triptych.ir.handles import Operation, Value
from triptych.ir.types import type_text
from triptych.targets.spirv import builtins

LANES = 32


class SubGroup:
    """A builder, and the kernel that it stands in."""

    def __init__(self, kernel: Operation, builder: Builder) -> None:
        self._kernel, self.builder = kernel, builder

    @property
    def lane(self) -> Expression:
        zero = self.builder.constant(0, "i32")
        thread = builtins.value_of(self.builder, self._kernel, builtins.LOCAL_ID, [zero], "i64")
        return self.of(thread).convert("trunci", "i32") & (LANES - 1)

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
