"""Pass `place-divisor-checks`, object-stage of every target: where a kernel asks whether a divisor is zero.

Input: kernels whose run-time divisors are `simt.divisor`. Output: kernels without them. A GPU does not trap, and
programs divide by a zero whose quotient they then do not take; one that is used has to be told. So a quotient by zero
is poison, and so is what is computed of it; a select or a branch takes it or another; and a memory access, a condition,
or whatever else others see of it makes the check, with the line of the division. Most quotients are used wherever they
are computed: there the check stays in front of the division, and nothing else is added.

A GPU whose kernel has stopped gives nothing back, so there a check may come late (`deferred`): uses in branches mark
the quotient as used, and one check follows where the block of the division ends. A check in each branch would keep the
assembler from giving the branch's instructions a predicate: 48 of them are half the code of an elementwise addition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from triptych.ir import bindings
from triptych.ir.builder import builder_before
from triptych.ir.handles import Attribute, Block, Module, Operation, Value
from triptych.ir.modules import kernels, operations_named
from triptych.kernel_ir.analysis.live_values import computes, live_values
from triptych.kernel_ir.dialects.kernel_operations import (
    blocks_around,
    body,
    defining_op,
    enclosing,
    operations,
)
from triptych.kernel_ir.dialects.simt import DIVISOR

DIVISORS = frozenset({DIVISOR})
_LOOPS = frozenset({"scf.for", "scf.while"})
_ENDS = frozenset({"scf.yield", "scf.condition"})
_WAITING = "scf.while"
"""Loops that end when somebody else has written something, perhaps."""


def place_divisor_checks(module: Module, *, deferred: bool = False) -> None:
    """Every divisor of every kernel."""
    for kernel in kernels(module):
        found = operations_named(kernel, DIVISOR, _WAITING)
        loops = [operation for operation in found if operation.name == _WAITING]
        unsure = False
        live: set[Value] | None = None
        for divisor in [operation for operation in found if operation.name == DIVISOR]:
            carried, used = _uses(divisor)
            if carried and not used:
                live = live_values(kernel) if live is None else live
            if live is not None and divisor.results[0] not in live:
                _divide_by_one(divisor)
            elif carried or used:
                _check_here(divisor)
            else:
                unsure = True
        if unsure:
            _Poisons(kernel, frozenset(_around(loops)) if deferred else None).follow(body(kernel))


def _uses(divisor: Operation) -> tuple[bool, bool]:
    """Whether a loop or a variable carries the quotient on, and whether something in the same block surely uses it,
    where nothing but the divisor itself chooses before.
    """
    block, pending, seen = divisor.block, [divisor.results[0]], set()
    carried = False
    while pending:
        for use in pending.pop().uses:
            user = use.owner.operation
            if user in seen or user.block != block:
                continue
            if computes(user):
                # Dividing down has selects by the divisor: they pass on what their conditions are made of.
                if user.name != "arith.select" or use.operand_number == 0:
                    seen.add(user)
                    pending += user.results
            elif user.name == "llvm.store" and _is_variable(user.operands[1]):
                carried = True
            elif user.name not in _ENDS:
                return carried, True
            elif enclosing(user).name != "scf.if":
                carried = True
    return carried, False


def _is_variable(address: Value) -> bool:
    made_by = defining_op(address)
    return made_by is not None and made_by.name == "llvm.alloca"


def _divide_by_one(divisor: Operation) -> None:
    """Nobody sees the quotient."""
    one = builder_before(divisor).constant(1, divisor.operands[0].type)
    divisor.results[0].replace_all_uses_with(one)
    divisor.erase()


def _check_here(divisor: Operation) -> None:
    builder, given = builder_before(divisor), divisor.operands[0]
    holds = builder.compare("ne", given, builder.constant(0, given.type))
    builder.operation("cf.assert", (holds,), attributes=_words(divisor))
    divisor.results[0].replace_all_uses_with(divisor.operands[0])
    divisor.erase()


def _words(divisor: Operation) -> dict[str, Attribute]:
    """What a check says."""
    return {name: divisor.attributes[name] for name in divisor.attributes}


class _Poisons:
    """The divisors of a kernel whose quotients may be left unused, in one walk over it."""

    def __init__(self, kernel: Operation, waiting: frozenset[Block] | None) -> None:
        self._kernel, self._waiting = kernel, waiting
        self._every: list[_Poison] = []
        self._poisoned: set[Value] = set()

    def follow(self, block: Block) -> None:
        for operation in operations(block):
            if operation.name == DIVISOR:
                self._begin(operation)
            elif len(operation.regions):
                self._control(operation)
            elif self._every and not self._poisoned.isdisjoint(operation.operands):
                for poison in self._every:
                    poison.use(operation)

    def _begin(self, divisor: Operation) -> None:
        made = _Poison(divisor, self._kernel, self._waiting, self._poisoned)
        safe = made.begin()
        for poison in self._every:
            poison.use(safe)
        self._every.append(made)

    def _control(self, operation: Operation) -> None:
        """A branch or loop behind a division: what decides about it, and what it is given, is used."""
        for poison in self._every:
            poison.decide(operation)
        for region in operation.regions:
            for inside in region.blocks:
                self.follow(inside)
        if operation.name == "scf.if" and len(operation.results):
            self._leave(operation)

    def _leave(self, branch: Operation) -> None:
        """The results of a branch are poison if what the side ends with that ran is: one more result tells."""
        ends = [operations(body(branch, side))[-1] for side in (0, 1)]
        sides = [list(end.operands) for end in ends]
        found: list[tuple[_Poison, int, list[Value | None]]] = []
        for poison in self._every:
            for at, values in enumerate(zip(*sides, strict=True)):
                flags = [poison.flags.get(value) for value in values]
                if any(flag is not None for flag in flags):
                    found.append((poison, at, flags))
        if found:
            made = self._with_results(branch, ends, [flags for _, _, flags in found])
            for more, (poison, at, _) in enumerate(found, start=len(sides[0])):
                poison.flag(made.results[at], made.results[more])

    def _with_results(self, branch: Operation, ends: list[Operation], new: list[list[Value | None]]) -> Operation:
        """The branch with further truth values as results."""
        builder = builder_before(branch)
        types = [*(result.type for result in branch.results), *([builder.type("i1")] * len(new))]
        made = builder.operation("scf.if", tuple(branch.operands), tuple(types), regions=2)
        for side, end in enumerate(ends):
            builder.stand_before(end)
            flags = [builder.constant(0, "i1") if (flag := sides[side]) is None else flag for sides in new]
            builder.operation("scf.yield", (*end.operands, *flags), ())
            end.erase()
        for old, result in zip(list(branch.results), made.results, strict=False):
            old.replace_all_uses_with(result)
        builder.move_blocks(branch, made)
        return made


class _Poison:
    """One divisor whose quotient may be left unused: which values are poison, as run-time truth values."""

    def __init__(
        self, divisor: Operation, kernel: Operation, waiting: frozenset[Block] | None, poisoned: set[Value]
    ) -> None:
        self._divisor = divisor
        self._kernel = kernel
        self._waiting = waiting
        """Blocks in which threads may wait for memory; None where checks must not come late."""
        self._words = _words(divisor)
        self._builder = builder_before(divisor)
        self.flags: dict[Value, Value] = {}
        """Whether a value is poison, for each that may be."""
        self._poisoned = poisoned
        """Of all divisors."""
        self._told: set[tuple[Value, Block]] = set()
        self._marks: dict[Value, Value | None] = {}
        """For each poison the variable that tells whether it is used; None where its check must not come late."""

    def begin(self) -> Operation:
        """Divide by 1 instead; gives what makes the divisor."""
        divisor, builder = self._divisor, self._builder
        given = divisor.operands[0]
        zero = builder.compare("eq", given, builder.constant(0, given.type))
        safe = builder.operation("arith.select", (zero, builder.constant(1, given.type), given), (given.type,))
        divisor.results[0].replace_all_uses_with(safe.results[0])
        self.flag(safe.results[0], zero)
        divisor.erase()
        return safe

    def flag(self, value: Value, flag: Value) -> None:
        """From here on a value may be poison."""
        self.flags[value] = flag
        self._poisoned.add(value)

    def decide(self, operation: Operation) -> None:
        """A branch or loop is given operands."""
        for flag in self._poison_of(operation):
            self._tell(operation, flag)

    def use(self, operation: Operation) -> None:
        """What is no branch and no loop may be given poison."""
        flags = self._poison_of(operation)
        if not flags:
            return
        if operation.name == "arith.select":
            self.flag(operation.results[0], self._selected(operation))
        elif computes(operation):
            flag = self._either(operation, flags)
            for result in operation.results:
                self.flag(result, flag)
        elif operation.name != "scf.yield" or enclosing(operation).name != "scf.if":
            for flag in flags:
                self._tell(operation, flag)

    def _poison_of(self, operation: Operation) -> list[Value]:
        return list(dict.fromkeys(self.flags[operand] for operand in operation.operands if operand in self.flags))

    def _either(self, operation: Operation, flags: list[Value]) -> Value:
        self._builder.insertion = self._builder.before(operation)
        flag = flags[0]
        for other in flags[1:]:
            flag = self._builder.value("arith.ori", (flag, other), "i1")
        return flag

    def _selected(self, select: Operation) -> Value:
        """The poison of what is selected, and of what selects."""
        condition, *sides = select.operands
        flags = self._poison_of(select)
        if condition in self.flags and len(flags) == 1:
            return flags[0]
        self._builder.insertion = self._builder.before(select)
        no = self._builder.constant(0, "i1")
        taken, other = (self.flags.get(side, no) for side in sides)
        flag = self._builder.select(condition, taken, other, "i1")
        return self._either(select, [flag, self.flags[condition]]) if condition in self.flags else flag

    def _tell(self, user: Operation, flag: Value) -> None:
        """A check in front of the use; in front of a loop that uses what was computed before it, if it runs."""
        place, home = user, _block_of(flag)
        while place.block != home and enclosing(place).name in _LOOPS:
            place = enclosing(place)
        if any((flag, around) in self._told for around in blocks_around(place)):
            return
        if place.block != home and (mark := self._mark(flag)) is not None:
            self._builder.insertion = self._builder.before(user)
            self._builder.operation("llvm.store", (self._builder.constant(1, "i1"), mark))
            self._told.add((flag, user.block))
            return
        self._builder.insertion = self._builder.before(place)
        holds = self._builder.value("arith.xori", (flag, self._builder.constant(1, "i1")), "i1")
        excused = place != user and place.name == "scf.for"
        self._told.add((flag, body(place) if excused else place.block))
        if excused:
            idle = self._builder.compare("sge", place.operands[0], place.operands[1])
            holds = self._builder.value("arith.ori", (holds, idle), "i1")
        self._builder.operation("cf.assert", (holds,), attributes=self._words)

    def _mark(self, flag: Value) -> Value | None:
        """A variable of each thread, false where the poison is computed; the check is where that block ends."""
        if flag not in self._marks:
            self._marks[flag] = None
            if self._waiting is not None and not self._may_wait(flag, self._waiting):
                self._marks[flag] = self._checked_at_end(flag)
        return self._marks[flag]

    def _checked_at_end(self, flag: Value) -> Value:
        builder = self._builder
        builder.insertion = builder.at_start(body(self._kernel))
        size = builder.value("llvm.mlir.constant", (), "i32", {"value": builder.integer("i32", 1)})
        mark = builder.value("llvm.alloca", (size,), "!llvm.ptr", {"elem_type": builder.type_attribute("i1")})
        builder.insertion = builder.after_value(flag)
        builder.operation("llvm.store", (builder.constant(0, "i1"), mark))
        builder.insertion = builder.before(operations(_block_of(flag))[-1])
        used = builder.value("arith.andi", (flag, builder.value("llvm.load", (mark,), "i1")), "i1")
        holds = builder.value("arith.xori", (used, builder.constant(1, "i1")), "i1")
        builder.operation("cf.assert", (holds,), attributes=self._words)
        return mark

    def _may_wait(self, flag: Value, waiting: frozenset[Block]) -> bool:
        """Whether threads may wait for memory after a poison is computed, perhaps for ever if it is used."""
        maker: Any = flag.owner
        following = _after(maker.operation) if waiting else ()
        return any(inside in waiting for each in following for region in each.regions for inside in region.blocks)


def _block_of(value: Value) -> Block:
    owner: Any = value.owner
    return owner if isinstance(owner, bindings.mlir().Block) else owner.operation.block  # type: ignore[no-any-return]


def _around(loops: Iterable[Operation]) -> Iterator[Block]:
    """The blocks of loops, and those around them."""
    for loop in loops:
        yield from (inside for region in loop.regions for inside in region.blocks)
        yield from blocks_around(loop)


def _after(operation: Operation) -> Iterator[Operation]:
    """What follows an operation in its block."""
    every = operations(operation.block)
    yield from every[every.index(operation) + 1 :]
