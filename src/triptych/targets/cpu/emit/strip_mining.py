"""Strip mining of a counted loop: a loop of loops, so that something can be done between the inner ones.

The inner loop stays what it was, and LLVM vectorises it as before.
"""

from __future__ import annotations

from triptych.ir.builder import Builder
from triptych.ir.handles import Value
from triptych.ir.types import is_index, is_integer

STRETCH = 1 << 16
"""The most iterations of a stretch."""
_HUGE_STEP = 1 << 46


class Stretches:
    """The bounds of a loop's stretches.

    They are counted: a counter that goes from one to the next could wrap around behind the last.
    """

    def __init__(self, code: Builder, low: Value, high: Value, step: Value, length: int = STRETCH) -> None:
        self._code = code
        self._kind = low.type
        self._low, self._high, wide_step = (self._as_i64(limit) for limit in (low, high, step))
        whole = code.value("arith.muli", (wide_step, code.constant(length, "i64")), "i64")
        huge = code.compare("sgt", wide_step, code.constant(_HUGE_STEP, "i64"))
        self._whole = code.value("arith.select", (huge, wide_step, whole), "i64")
        self.count = self._counted()

    def _counted(self) -> Value:
        """How many stretches reach from the lower to the upper bound; the distance is right as an unsigned number."""
        code, one = self._code, self._code.constant(1, "i64")
        further = code.value("arith.subi", (code.value("arith.subi", (self._high, self._low), "i64"), one), "i64")
        count = code.value("arith.addi", (code.value("arith.divui", (further, self._whole), "i64"), one), "i64")
        some = code.compare("slt", self._low, self._high)
        return code.value("arith.select", (some, count, code.constant(0, "i64")), "i64")

    def bounds(self, number: Value) -> tuple[Value, Value]:
        """Where the stretch of a number begins and ends, in the type of the loop's counter."""
        code = self._code
        first = code.value("arith.addi", (self._low, code.value("arith.muli", (number, self._whole), "i64")), "i64")
        rest = code.value("arith.subi", (self._high, first), "i64")
        last = code.value("arith.addi", (first, code.value("arith.minui", (rest, self._whole), "i64")), "i64")
        return self._from_i64(first), self._from_i64(last)

    def _as_i64(self, value: Value) -> Value:
        if is_integer(self._kind, 64):
            return value
        return self._code.value("arith.index_cast" if is_index(self._kind) else "arith.extsi", (value,), "i64")

    def _from_i64(self, value: Value) -> Value:
        if is_integer(self._kind, 64):
            return value
        return self._code.value("arith.index_cast" if is_index(self._kind) else "arith.trunci", (value,), self._kind)
