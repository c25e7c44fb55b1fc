"""Pass `prefetch-tiles`: while a tile is copied to shared memory, the machine is asked for the next one.

Input: kernels whose asynchronous copies are loads and stores. Output: with each of these loads in a loop that waits, a
`simt.prefetch` of what the same load reads in the next iteration. Kernels copy ahead of what they compute because on a
GPU a copy goes on by itself; here it is over when it has been asked for, and takes as long as memory does.
The rows of a tile are too many, and too far apart, for a machine to see by itself where they go on.

The address in the next iteration is computed from what the loop carries on: an induction variable and its step, other
values and what the loop yields for them. An address that needs anything else is not asked for.
"""

from __future__ import annotations

from collections.abc import Callable

from triptych.ir.builder import Builder
from triptych.ir.handles import Module, Operation, Value
from triptych.ir.modules import operations_named
from triptych.ir.types import GLOBAL_SPACE, SHARED_SPACE, memory_space
from triptych.kernel_ir.dialects.check import CHECK_ACCESS
from triptych.kernel_ir.dialects.kernel_operations import (
    body,
    defining_op,
    enclosing,
    has,
    is_inside,
    is_pure,
    operations,
    owner_op,
)
from triptych.kernel_ir.dialects.simt import PREFETCH


def prefetch_tiles(module: Module) -> None:
    loops: dict[Operation, _NextIteration | None] = {}
    for load in operations_named(module, "llvm.load"):
        if _is_copied(load) and (following := _loop_that_waits(load, loops)) is not None:
            following.prefetch(load)


def _is_copied(load: Operation) -> bool:
    """Whether all that becomes of what is read of global memory is that shared memory has it."""
    users = [use.owner.operation for use in load.results[0].uses if use.owner.operation.name != CHECK_ACCESS]
    return (
        memory_space(load.operands[0].type) == GLOBAL_SPACE
        and bool(users)
        and all(user.name == "llvm.store" and memory_space(user.operands[1].type) == SHARED_SPACE for user in users)
    )


def _loop_that_waits(load: Operation, loops: dict[Operation, _NextIteration | None]) -> _NextIteration | None:
    """The innermost loop around an operation with a barrier in it: the one over tiles."""
    around = enclosing(load)
    while around.name != "gpu.func":
        if around.name == "scf.for":
            if around not in loops:
                loops[around] = _NextIteration(around) if has(around, lambda traits: traits.suspends) else None
            if loops[around] is not None:
                return loops[around]
        around = enclosing(around)
    return None


class _NextIteration:
    """What values of a loop's body will be in its next iteration, as far as they can be computed now."""

    def __init__(self, loop: Operation) -> None:
        self._loop = loop
        self._builder = Builder(loop.context)
        self._induction, *carried = body(loop).arguments
        self._carried = dict(zip(carried, operations(body(loop))[-1].operands, strict=True))
        self._next: dict[Value, Value | None] = {}
        self._now: dict[Value, Value | None] = {}
        self._varying = dict.fromkeys((self._induction, *carried), True)
        self._asked: set[Value] = set()

    def prefetch(self, load: Operation) -> None:
        """Ask before whatever the load is in: also in an iteration that copies nothing, since asking does no harm."""
        place = load
        while enclosing(place) != self._loop:
            place = enclosing(place)
        self._builder.insertion = self._builder.before(place)
        pointer = load.operands[0]
        following = self._in_next(pointer) if self._varies(pointer) else None
        if following is not None and following not in self._asked:
            self._asked.add(following)
            self._builder.operation(PREFETCH, (following,), [], location=load.location)

    def _varies(self, value: Value) -> bool:
        """Whether a value may be another one in the next iteration."""
        if value not in self._varying:
            made_by = defining_op(value) if self._is_inside(value) else None
            self._varying[value] = made_by is not None and any(map(self._varies, made_by.operands))
        return self._varying[value]

    def _in_next(self, value: Value) -> Value | None:
        if value not in self._next:
            self._next[value] = self._step(value)
        return self._next[value]

    def _step(self, value: Value) -> Value | None:
        if value == self._induction:
            step = self._loop.operands[2]
            return self._builder.value("arith.addi", (value, step), value.type, location=self._loop.location)
        if value in self._carried:
            return self._at_hand(self._carried[value])
        return self._computed(value, self._in_next) if self._is_inside(value) else value

    def _at_hand(self, value: Value) -> Value | None:
        """A value of this iteration, computed before the load even if the program has it further down."""
        if value not in self._now:
            is_argument = value == self._induction or value in self._carried
            here = is_argument or not self._is_inside(value)
            self._now[value] = value if here else self._computed(value, self._at_hand)
        return self._now[value]

    def _computed(self, value: Value, of: Callable[[Value], Value | None]) -> Value | None:
        """The operation that computes a value, of other operands; None if it does not only compute."""
        made_by = defining_op(value)
        if made_by is None or not is_pure(made_by) or len(made_by.regions):
            return None
        operands = [made for operand in made_by.operands if (made := of(operand)) is not None]
        if len(operands) != len(made_by.operands):
            return None
        copy = made_by.clone(self._builder.insertion)
        for i, operand in enumerate(operands):
            copy.operands[i] = operand
        return copy.results[list(made_by.results).index(value)]

    def _is_inside(self, value: Value) -> bool:
        around = owner_op(value)
        return around == self._loop or is_inside(around, self._loop)
