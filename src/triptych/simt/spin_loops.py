"""Loops that wait for memory: what decides whether they go on is read from a place that stays the same.

A warp in such a loop waits for another one. A loop that also counts ends by itself; any other may wait for ever.
"""

from __future__ import annotations

from typing import Any

from triptych.simt.operations import all_operands, body, contains, is_pure, operations, walk

_ATOMIC = ("llvm.atomicrmw", "llvm.cmpxchg")


def spins(loop: Any) -> bool:
    """Whether a loop waits for memory: its test depends on a place that stays the same, and it stores nothing."""
    if loop.name != "scf.while" or contains(loop, frozenset({"llvm.store"})):
        return False
    return any(_reads_one_place(maker, loop) for maker in _Deciding(loop).makers)


def counts(loop: Any) -> bool:
    """Whether the test also depends on a number that each iteration changes by itself."""
    return bool(_Deciding(loop).counters)


def waits(operation: Any) -> bool:
    """Whether a loop that waits for memory is the operation or somewhere inside it."""
    return spins(operation) or any(spins(child) for child in walk(operation))


class _Deciding:
    """What the test of a loop depends on: the operations that make it, and values carried over from themselves."""

    def __init__(self, loop: Any) -> None:
        self._loop = loop
        self.makers: dict[Any, None] = {}
        self._seen: set[Any] = set()
        self._entering = list(body(loop, 0).arguments)
        self._passing = list(body(loop, 1).arguments)
        self._test, *self._forwarded = operations(body(loop, 0))[-1].operands
        self._next = list(operations(body(loop, 1))[-1].operands)
        self._follow(self._test)
        self.counters = [value for value in self._entering if value in self._seen and self._changes_itself(value)]

    def _follow(self, value: Any) -> None:
        pending = [value]
        while pending:
            found = pending.pop()
            if found not in self._seen:
                self._seen.add(found)
                pending += self._sources(found)

    def _sources(self, value: Any) -> list[Any]:
        if value in self._entering:
            return [self._next[self._entering.index(value)]]
        if value in self._passing:
            return [self._forwarded[self._passing.index(value)]]
        owner = value.owner
        if not hasattr(owner, "operation"):  # an argument of a block
            inside = owner.owner.operation
            return all_operands(inside) if _is_inside(inside, self._loop) else []
        maker = owner.operation
        if not _is_inside(maker, self._loop):
            return []
        self.makers[maker] = None
        return all_operands(maker)

    def _changes_itself(self, value: Any) -> bool:
        """Whether the next value is computed from the present one."""
        following = self._next[self._entering.index(value)]
        if following in self._passing and self._forwarded[self._passing.index(following)] == value:
            return False
        seen: set[Any] = set()
        pending = [following]
        while pending:
            found = pending.pop()
            if found == value:
                return True
            if found not in seen:
                seen.add(found)
                pending += [] if found in self._entering else self._sources(found)
        return False


def _is_inside(operation: Any, loop: Any) -> bool:
    while operation is not None and operation.name not in ("gpu.func", "func.func", "builtin.module"):
        operation = operation.parent.operation if operation.parent is not None else None
        if operation == loop:
            return True
    return False


def _reads_one_place(operation: Any, loop: Any) -> bool:
    if operation.name in _ATOMIC:
        return True
    return operation.name == "llvm.load" and not _varies(operation.operands[0], loop)


def _varies(value: Any, loop: Any) -> bool:
    """Whether a value can change in a loop: it is carried, or made there of something that can."""
    seen, pending = {value}, [value]
    while pending:
        owner = pending.pop().owner
        carried = not hasattr(owner, "operation")  # an argument of a block
        maker = owner.owner.operation if carried else owner.operation
        if maker != loop and not _is_inside(maker, loop):
            continue
        if carried or not is_pure(maker):
            return True
        pending += [operand for operand in maker.operands if operand not in seen]
        seen.update(maker.operands)
    return False
