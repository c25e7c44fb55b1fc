"""Loop peeling: what an address is in the first iteration of a loop, and how far it advances in each.

Input: an `scf.for` and addresses of its body. Output: the address before the loop, and the bytes between iterations;
nothing where these differ, or where an address needs more than the counter.
"""

from __future__ import annotations

from triptych.ir.builder import builder_before
from triptych.ir.handles import Operation, Value
from triptych.ir.types import int_width, is_index, is_integer
from triptych.kernel_ir.analysis.addresses import keeps_distances, steps
from triptych.kernel_ir.dialects.kernel_operations import body, constant_of, defining_op, is_inside, is_pure, owner_op

_DIVISIONS = ("arith.div", "arith.rem", "arith.floordiv", "arith.ceildiv")
_SAME_FOR_ALL = frozenset({"gpu.block_id", "gpu.block_dim", "gpu.grid_dim"})
_THREADS_OWN = frozenset({"gpu.thread_id", "gpu.lane_id"})
_LEAST_BITS = 32
"""Narrower numbers wrap around inside of memory."""


class FirstIteration:
    """A loop, and what values of its body are when it begins."""

    def __init__(self, loop: Operation) -> None:
        self._loop = loop
        self._builder = builder_before(loop)
        self._i64 = self._builder.type("i64")
        self._induction = body(loop).arguments[0]
        self._advances: dict[Value, int | None] = {}
        self._first: dict[Value, Value] = {self._induction: loop.operands[0]}

    # how often ---------------------------------------------------------------------------------------------------
    def count(self) -> Value | None:
        """How many iterations there are, as `i64`; None where threads may have different numbers of them."""
        low, high, step = list(self._loop.operands)[:3]
        width = constant_of(step)
        if width is None or width <= 0 or "unsignedCmp" in self._loop.attributes:
            return None
        begin, end = constant_of(low), constant_of(high)
        if begin is not None and end is not None:
            return self._number(max(0, -((begin - end) // width)))
        if not (is_same_for_all(low) and is_same_for_all(high)):
            return None
        wide_low, wide_high = (self._wide(bound) for bound in (low, high))
        if wide_low is None or wide_high is None:
            return None
        distance = self._value("arith.subi", wide_high, wide_low)
        return self._value(
            "arith.maxsi", self._value("arith.ceildivsi", distance, self._number(width)), self._number(0)
        )

    def _wide(self, bound: Value) -> Value | None:
        bits = int_width(bound.type)
        if bits is None or bits > 64:
            return None
        if is_integer(bound.type, 64):
            return bound
        name = "arith.index_cast" if is_index(bound.type) else "arith.extsi"
        return self._builder.value(name, (bound,), self._i64)

    def _value(self, name: str, left: Value, right: Value) -> Value:
        return self._builder.value(name, (left, right), self._i64)

    def _number(self, number: int) -> Value:
        attributes = {"value": self._builder.integer("i64", number)}
        return self._builder.value("arith.constant", (), self._i64, attributes)

    # how far -----------------------------------------------------------------------------------------------------
    def stride(self, address: Value) -> int | None:
        """The bytes between an address and the same in the next iteration; None where that is no number known now."""
        width = constant_of(self._loop.operands[2])
        base, added = steps(address)
        if width is None or self._is_inside(base):
            return None
        total = 0
        for step in added:
            advance = 0 if isinstance(step.index, int) else self._advance(step.index)
            if advance is None:
                return None
            total += advance * step.size
        return total * width

    def _advance(self, value: Value) -> int | None:
        """How much a number grows when the counter does by one."""
        if value not in self._advances:
            self._advances[value] = self._found_advance(value)
        return self._advances[value]

    def _found_advance(self, value: Value) -> int | None:
        if value == self._induction:
            return 1
        if not self._is_inside(value):
            return 0
        operation = defining_op(value)
        if operation is None or not is_pure(operation) or len(operation.regions) or _may_fail(operation):
            return None
        parts = [self._advance(operand) for operand in operation.operands]
        known = [part for part in parts if part is not None]
        if len(known) != len(parts):
            return None
        if not any(known):
            return 0
        return _advance_of(operation, known)

    # what --------------------------------------------------------------------------------------------------------
    def first(self, value: Value) -> Value:
        """The value in the first iteration, computed before the loop; only of values whose advance is known."""
        if not self._is_inside(value):
            return value
        if value not in self._first:
            operation = defining_op(value)
            assert operation is not None, "arguments of the loop are known"
            operands = [self.first(operand) for operand in operation.operands]
            copy = operation.clone(self._builder.insertion)
            for i, operand in enumerate(operands):
                copy.operands[i] = operand
            self._first[value] = copy.results[list(operation.results).index(value)]
        return self._first[value]

    def _is_inside(self, value: Value) -> bool:
        around = owner_op(value)
        return around == self._loop or is_inside(around, self._loop)


def _may_fail(operation: Operation) -> bool:
    """Whether a division may be by zero: a loop that never runs must not fail."""
    return operation.name.startswith(_DIVISIONS) and not constant_of(operation.operands[1])


def _advance_of(operation: Operation, parts: list[int]) -> int | None:
    """How much a sum grows, by how much its operands do."""
    match operation.name:
        case "arith.addi":
            return parts[0] + parts[1]
        case "arith.subi":
            return parts[0] - parts[1]
        case "arith.muli":
            factors = [constant_of(operand) for operand in operation.operands]
            found = [part * factor for part, factor in zip(parts, reversed(factors), strict=True) if factor is not None]
            return found[0] if found and 0 in parts else None
        case "arith.shli":
            distance = constant_of(operation.operands[1])
            return None if distance is None else parts[0] << distance
        case "arith.trunci":
            return parts[0] if (int_width(operation.results[0].type) or 0) >= _LEAST_BITS else None
        case _:
            return parts[0] if keeps_distances(operation) else None


def is_same_for_all(value: Value) -> bool:
    """Whether all threads of a block have one number: computed of arguments of the kernel and counters alone."""
    pending, seen = [value], {value}
    while pending:
        value = pending.pop()
        made_by = defining_op(value)
        if made_by is None:
            around = owner_op(value)
            if around.name == "gpu.func":
                continue
            if around.name != "scf.for" or value != body(around).arguments[0]:
                return False
            needed = list(around.operands)[:3]
        elif made_by.name in _THREADS_OWN or not (made_by.name in _SAME_FOR_ALL or is_pure(made_by)):
            return False
        else:
            needed = list(made_by.operands)
        pending += [each for each in needed if each not in seen]
        seen.update(needed)
    return True
