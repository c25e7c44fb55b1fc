"""Strip mining of loops: a loop of loops, so that something can be done between the inner ones.

The inner loop stays what it was, and LLVM vectorises it as before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from triptych.ir.builder import Builder
from triptych.ir.handles import Block, Operation, Type, Value
from triptych.ir.types import is_index, is_integer
from triptych.kernel_ir.dialects.kernel_operations import body, constant_of, defining_op, operations
from triptych.support.dataclass import dataclass

STRIP_LENGTH = 1 << 16
"""The most iterations of a strip."""
_HUGE_STEP = 1 << 46


class Strips:
    """The bounds of a loop's strips.

    They are counted: a counter that goes from one to the next could wrap around behind the last.
    """

    def __init__(self, code: Builder, low: Value, high: Value, step: Value, length: int = STRIP_LENGTH) -> None:
        self._code = code
        self._kind = low.type
        self._low, self._high, wide_step = (self._as_i64(limit) for limit in (low, high, step))
        whole = code.value("arith.muli", (wide_step, code.constant(length, "i64")), "i64")
        huge = code.compare("sgt", wide_step, code.constant(_HUGE_STEP, "i64"))
        self._whole = code.value("arith.select", (huge, wide_step, whole), "i64")
        self.count = self._counted()

    def _counted(self) -> Value:
        """How many strips reach from the lower to the upper bound; the distance is right as an unsigned number."""
        code, one = self._code, self._code.constant(1, "i64")
        further = code.value("arith.subi", (code.value("arith.subi", (self._high, self._low), "i64"), one), "i64")
        count = code.value("arith.addi", (code.value("arith.divui", (further, self._whole), "i64"), one), "i64")
        some = code.compare("slt", self._low, self._high)
        return code.value("arith.select", (some, count, code.constant(0, "i64")), "i64")

    def bounds(self, number: Value) -> tuple[Value, Value]:
        """Where the strip of a number begins and ends, in the type of the loop's counter."""
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


# Strip mining of a `scf.while`, whose test may run twice: the inner loop goes on as before, or until it has run for a
# number of iterations; the outer one starts it again, and does something in between.
#
# A loop that counts by itself up to a bound is given a nearer bound. Any other one is given a counter.

_BELOW = {2: ("slt", "sge"), 6: ("ult", "uge")}
"""Comparisons that a counter passes while it is below its bound, by their numbers, and their opposites."""


def cut_while(code: Builder, loop: Operation, length: int, between: Callable[[], None]) -> None:
    """Replace the loop, before which `code` writes. `between` writes what happens between two strips."""
    entering = [argument.type for argument in body(loop).arguments]
    leaving = [result.type for result in loop.results]
    outer = code.operation("scf.while", list(loop.operands), [*leaving, *entering], regions=2)
    head = code.append_block(outer, 0, entering)
    before = code.enter(head)
    arguments, counter = list(head.arguments), _counter_of(loop, length)
    end: _End = _AddedCounter(code, length) if counter is None else _OwnCounter(code, length, counter, arguments)
    made = code.operation("scf.while", [*arguments, *end.start], [*leaving, *entering, *end.kinds], regions=2)
    results = list(made.results)
    values, counts = results[len(leaving) :][: len(entering)], results[len(leaving) + len(entering) :]
    code.operation("scf.condition", [end.is_reached(values, counts), *results[: len(results) - len(counts)]])
    code.leave(before)
    tail = code.append_block(outer, 1, [*leaving, *entering])
    before = code.enter(tail)
    between()
    code.operation("scf.yield", list(tail.arguments)[len(leaving) :])
    code.leave(before)
    for old, new in zip(list(loop.results), list(outer.results), strict=False):
        old.replace_all_uses_with(new)
    code.move_blocks(loop, made)
    _count_in_test(code, body(made, 0), end)
    _count_in_body(code, body(made, 1), entering, end)


def _count_in_test(code: Builder, block: Block, end: _End) -> None:
    entered = list(block.arguments)
    counts = [block.add_argument(code.type(kind), code.location) for kind in end.kinds]
    condition = operations(block)[-1]
    code.insertion = code.before(condition)
    goes_on, *forwarded = condition.operands
    code.operation("scf.condition", [end.goes_on(goes_on, counts), *forwarded, *entered, *counts])
    condition.erase()


def _count_in_body(code: Builder, block: Block, entering: list[Type], end: _End) -> None:
    added = [block.add_argument(code.type(kind), code.location) for kind in (*entering, *end.kinds)]
    last = operations(block)[-1]
    code.insertion = code.before(last)
    code.operation("scf.yield", [*last.operands, *end.following(added[len(entering) :])])
    last.erase()


class _End(Protocol):
    """How a strip ends: what the inner loop carries for it, and what its test asks besides."""

    kinds: list[Type]
    start: list[Value]

    def is_reached(self, values: list[Value], counts: list[Value]) -> Value:
        """Whether the inner loop has ended because its strip has, by what it carried."""

    def goes_on(self, condition: Value, counts: list[Value]) -> Value: ...

    def following(self, counts: list[Value]) -> list[Value]: ...


class _AddedCounter:
    """The inner loop carries the number of its iterations."""

    def __init__(self, code: Builder, length: int) -> None:
        self._code = code
        self._length = length
        self.kinds = [code.type("i32")]
        self.start = [code.constant(0, "i32")]

    def is_reached(self, values: list[Value], counts: list[Value]) -> Value:
        return self._code.compare("eq", counts[0], self._code.constant(self._length, "i32"))

    def goes_on(self, condition: Value, counts: list[Value]) -> Value:
        more = self._code.compare("ult", counts[0], self._code.constant(self._length, "i32"))
        return self._code.value("arith.andi", (condition, more), "i1")

    def following(self, counts: list[Value]) -> list[Value]:
        return [self._code.value("arith.addi", (counts[0], self._code.constant(1, "i32")), "i32")]


@dataclass(frozen=True, slots=True)
class _Counter:
    """A variable that a loop steps along while it is below a bound."""

    place: int
    """Among what the loop carries."""
    comparison: Operation
    step: int
    kind: Type


class _OwnCounter:
    """The inner loop compares its counter with the end of the strip."""

    def __init__(self, code: Builder, length: int, counter: _Counter, arguments: list[Value]) -> None:
        self._code = code
        self._counter = counter
        self.kinds: list[Type] = []
        self.start: list[Value] = []
        self._below, self._beyond = _BELOW[counter.comparison.attributes["predicate"].value]
        self._bound = counter.comparison.operands[1]
        start, kind = arguments[counter.place], counter.kind
        rest = code.value("arith.subi", (self._bound, start), kind)
        least = code.value("arith.minui", (rest, code.constant(length * counter.step, kind)), kind)
        near = code.value("arith.addi", (start, least), kind)
        some = code.compare(self._below, start, self._bound)
        self._limit = code.value("arith.select", (some, near, self._bound), kind)

    def is_reached(self, values: list[Value], counts: list[Value]) -> Value:
        value = values[self._counter.place]
        ended = self._code.compare(self._beyond, value, self._limit)
        return self._code.value("arith.andi", (ended, self._code.compare(self._below, value, self._bound)), "i1")

    def goes_on(self, condition: Value, counts: list[Value]) -> Value:
        self._counter.comparison.operands[1] = self._limit
        return condition

    def following(self, counts: list[Value]) -> list[Value]:
        return []


def _counter_of(loop: Operation, length: int) -> _Counter | None:
    """The counter of a loop that goes on only while it is below a bound, which stays the same."""
    test, condition = operations(body(loop)), operations(body(loop))[-1]
    pending = [condition.operands[0]]
    while pending:
        made_by = defining_op(pending.pop())
        if made_by is None or made_by not in test:
            continue
        if made_by.name == "arith.andi":
            pending += made_by.operands
        elif made_by.name == "arith.cmpi":
            found = _compared_counter(loop, made_by, test, length)
            if found is not None:
                return found
    return None


def _compared_counter(loop: Operation, comparison: Operation, test: list[Operation], length: int) -> _Counter | None:
    entering = list(body(loop).arguments)
    value, bound = comparison.operands
    bound_by = defining_op(bound)
    varies = bound in entering or (bound_by is not None and bound_by in test)
    if comparison.attributes["predicate"].value not in _BELOW or value not in entering or varies:
        return None
    place, kind = entering.index(value), value.type
    step = _step(loop, place)
    fits = is_integer(kind) and length * step < 1 << kind.width - 1
    return _Counter(place, comparison, step, kind) if step > 0 and fits and _is_used_once(comparison) else None


def _is_used_once(operation: Operation) -> bool:
    return len(list(operation.results[0].uses)) == 1


def _step(loop: Operation, place: int) -> int:
    """What each iteration adds to a carried number; 0 when that is not a constant."""
    passing, entering = list(body(loop, 1).arguments), list(body(loop).arguments)
    _, *forwarded = operations(body(loop))[-1].operands
    addition = defining_op(operations(body(loop, 1))[-1].operands[place])
    if addition is None or addition.name != "arith.addi":
        return 0
    for number, amount in (list(addition.operands), list(addition.operands)[::-1]):
        if number in passing and forwarded[passing.index(number)] == entering[place]:
            return constant_of(amount) or 0
    return 0
