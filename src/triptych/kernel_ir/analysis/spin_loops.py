"""Spin loop detection: the condition of a loop is loaded from an address that does not change.

A warp in such a loop waits for another one. A loop that also counts ends by itself; any other may wait for ever.
"""

from __future__ import annotations

from triptych.ir.handles import Operation, Value
from triptych.kernel_ir.dialects.kernel_operations import (
    all_operands,
    body,
    contains,
    defining_op,
    is_inside,
    is_pure,
    operations,
    owner_op,
    walk,
)
from triptych.kernel_ir.dialects.simt import MBARRIER_TEST

_ATOMIC = ("llvm.atomicrmw", "llvm.cmpxchg")


def spins(loop: Operation) -> bool:
    """Whether a loop waits for memory: its test depends on a place that stays the same, and it stores nothing.

    One that asks whether the phase of an mbarrier is over waits for others whatever else it does.
    """
    if loop.name != "scf.while":
        return False
    stores = contains(loop, frozenset({"llvm.store"}))
    if stores and not contains(loop, frozenset({MBARRIER_TEST})):
        return False
    makers = _Deciding(loop).makers
    asks = any(maker.name == MBARRIER_TEST for maker in makers)
    return asks or (not stores and any(_reads_one_place(maker, loop) for maker in makers))


def counts(loop: Operation) -> bool:
    """Whether the test also depends on a number that each iteration changes by itself."""
    return bool(_Deciding(loop).counters)


def waits(operation: Operation) -> bool:
    """Whether a loop that waits for memory is the operation or somewhere inside it."""
    return spins(operation) or any(spins(child) for child in walk(operation))


class _Deciding:
    """What the test of a loop depends on: the operations that make it, and values carried over from themselves."""

    def __init__(self, loop: Operation) -> None:
        self._loop = loop
        self.makers: dict[Operation, None] = {}
        self._seen: set[Value] = set()
        self._entering = list(body(loop, 0).arguments)
        self._passing = list(body(loop, 1).arguments)
        self._test, *self._forwarded = operations(body(loop, 0))[-1].operands
        self._next = list(operations(body(loop, 1))[-1].operands)
        self._follow(self._test)
        self.counters = [value for value in self._entering if value in self._seen and self._changes_itself(value)]

    def _follow(self, value: Value) -> None:
        pending = [value]
        while pending:
            found = pending.pop()
            if found not in self._seen:
                self._seen.add(found)
                pending += self._sources(found)

    def _sources(self, value: Value) -> list[Value]:
        if value in self._entering:
            return [self._next[self._entering.index(value)]]
        if value in self._passing:
            return [self._forwarded[self._passing.index(value)]]
        maker = defining_op(value)
        around = owner_op(value) if maker is None else maker
        if not is_inside(around, self._loop):
            return []
        if maker is not None:
            self.makers[maker] = None
        return all_operands(around)

    def _changes_itself(self, value: Value) -> bool:
        """Whether the next value is computed from the present one."""
        following = self._next[self._entering.index(value)]
        if following in self._passing and self._forwarded[self._passing.index(following)] == value:
            return False
        seen: set[Value] = set()
        pending = [following]
        while pending:
            found = pending.pop()
            if found == value:
                return True
            if found not in seen:
                seen.add(found)
                pending += [] if found in self._entering else self._sources(found)
        return False


def _reads_one_place(operation: Operation, loop: Operation) -> bool:
    if operation.name in _ATOMIC:
        return True
    return operation.name == "llvm.load" and not _varies(operation.operands[0], loop)


def _varies(value: Value, loop: Operation) -> bool:
    """Whether a value can change in a loop: it is carried, or made there of something that can."""
    seen, pending = {value}, [value]
    while pending:
        found = pending.pop()
        maker = owner_op(found)
        carried = defining_op(found) is None
        if maker != loop and not is_inside(maker, loop):
            continue
        if carried or not is_pure(maker):
            return True
        pending += [operand for operand in maker.operands if operand not in seen]
        seen.update(maker.operands)
    return False
