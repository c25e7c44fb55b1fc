"""Pass `place-divisor-checks`, object-stage of every target: where a kernel asks whether a divisor is zero.

Input: kernels whose run-time divisors are `simt.divisor`. Output: kernels without them. A GPU does not trap, and
programs divide by a zero whose quotient they then do not take; one that is used has to be told. So a quotient by zero
is poison, and so is what is computed of it; a select or a branch takes it or another; and a memory access, a condition,
or whatever else others see of it makes the check, with the line of the division. Most quotients are used wherever they
are computed: there the check stays in front of the division, and nothing else is added.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from triptych.ir import bindings
from triptych.ir.builder import Builder, builder_before
from triptych.ir.handles import Block, Module, Operation, Value
from triptych.ir.modules import kernels, operations_named
from triptych.kernel_ir.dialects.kernel_operations import (
    blocks_around,
    body,
    enclosing,
    has_body,
    is_described,
    operations,
    traits,
)
from triptych.kernel_ir.dialects.simt import DIVISOR

DIVISORS = frozenset({DIVISOR})
_LOOPS = frozenset({"scf.for", "scf.while"})
_ENDS = frozenset({"scf.yield", "scf.condition"})


def place_divisor_checks(module: Module) -> None:
    """Every divisor of every kernel."""
    for kernel in kernels(module):
        for divisor in operations_named(kernel, DIVISOR):
            if _is_used_for_certain(divisor):
                _check_here(divisor)
            else:
                _Poison(divisor).run()


def _computes(operation: Operation) -> bool:
    """Whether results are made of operands, and nothing else happens."""
    if operation.name == DIVISOR:
        return True
    return not len(operation.regions) and is_described(operation) and traits(operation).is_pure()


def _is_used_for_certain(divisor: Operation) -> bool:
    """Whether something in the same block uses the quotient, and nothing but the divisor itself chooses before."""
    block, pending, seen = divisor.block, [divisor.results[0]], set()
    while pending:
        for use in pending.pop().uses:
            user = use.owner.operation
            if user in seen or user.block != block:
                continue
            if _computes(user):
                # Dividing down has selects by the divisor: they pass on what their conditions are made of.
                if user.name != "arith.select" or use.operand_number == 0:
                    seen.add(user)
                    pending += user.results
            elif user.name not in _ENDS or enclosing(user).name != "scf.if":
                return True
    return False


def _check_here(divisor: Operation) -> None:
    builder, given = builder_before(divisor), divisor.operands[0]
    _check(builder, divisor, builder.compare("ne", given, builder.constant(0, given.type)))
    divisor.results[0].replace_all_uses_with(divisor.operands[0])
    divisor.erase()


def _check(builder: Builder, divisor: Operation, holds: Value) -> None:
    attributes = {name: divisor.attributes[name] for name in divisor.attributes}
    builder.operation("cf.assert", (holds,), attributes=attributes)


class _Poison:
    """One divisor whose quotient may be left unused: which values are poison, as run-time truth values."""

    def __init__(self, divisor: Operation) -> None:
        self._divisor = divisor
        self._builder = builder_before(divisor)
        self._flags: dict[Value, Value] = {}
        self._told: set[tuple[Value, Block]] = set()

    def run(self) -> None:
        """Divide by 1 instead, and follow what becomes of it."""
        divisor, builder = self._divisor, self._builder
        given = divisor.operands[0]
        zero = builder.compare("eq", given, builder.constant(0, given.type))
        safe = builder.select(zero, builder.constant(1, given.type), given, given.type)
        divisor.results[0].replace_all_uses_with(safe)
        self._flags[safe] = zero
        inner = divisor
        self._follow(list(_after(inner)))
        while enclosing(inner).name == "scf.if":  # out of a loop nothing gets that has not been told
            inner = self._leave(enclosing(inner))
            self._follow(list(_after(inner)))
        divisor.erase()

    def _follow(self, block: list[Operation]) -> None:
        for operation in block:
            if len(operation.regions):
                self._control(operation)
            else:
                self._use(operation)

    def _control(self, operation: Operation) -> None:
        """A branch or loop behind the division: what decides about it, and what it is given, is used."""
        for flag in self._poison_of(operation):
            self._tell(operation, flag)
        for region in operation.regions:
            for inside in region.blocks:
                self._follow(operations(inside))
        if operation.name == "scf.if":
            self._leave(operation)

    def _use(self, operation: Operation) -> None:
        flags = self._poison_of(operation)
        if not flags:
            return
        if operation.name == "arith.select":
            self._flags[operation.results[0]] = self._selected(operation)
        elif _computes(operation):
            flag = self._either(operation, flags)
            self._flags.update((result, flag) for result in operation.results)
        elif operation.name != "scf.yield" or enclosing(operation).name != "scf.if":
            for flag in flags:
                self._tell(operation, flag)

    def _poison_of(self, operation: Operation) -> list[Value]:
        return list(dict.fromkeys(self._flags[operand] for operand in operation.operands if operand in self._flags))

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
        if condition in self._flags and len(flags) == 1:
            return flags[0]
        self._builder.insertion = self._builder.before(select)
        no = self._builder.constant(0, "i1")
        taken, other = (self._flags.get(side, no) for side in sides)
        flag = self._builder.select(condition, taken, other, "i1")
        return self._either(select, [flag, self._flags[condition]]) if condition in self._flags else flag

    def _leave(self, branch: Operation) -> Operation:
        """The results of a branch are poison if what the side ends with that ran is: one more result tells."""
        if branch.name != "scf.if" or not len(branch.results):
            return branch
        ends = [operations(body(branch, side))[-1] if has_body(branch, side) else None for side in (0, 1)]
        poison: dict[int, list[Value | None]] = {}
        for at in range(len(branch.results)):
            flags = [None if end is None else self._flags.get(end.operands[at]) for end in ends]
            if any(flag is not None for flag in flags):
                poison[at] = flags
        if not poison:
            return branch
        made = self._with_results(branch, ends, list(poison.values()))
        for more, at in enumerate(poison, start=len(made.results) - len(poison)):
            self._flags[made.results[at]] = made.results[more]
        return made

    def _with_results(
        self, branch: Operation, ends: list[Operation | None], new: list[list[Value | None]]
    ) -> Operation:
        """The branch with further truth values as results."""
        builder = self._builder
        for side, end in enumerate(ends):
            assert end is not None, "both sides of the branch have a terminator"
            self._builder.insertion = self._builder.before(end)
            flags = [self._builder.constant(0, "i1") if (flag := sides[side]) is None else flag for sides in new]
            builder.operation("scf.yield", (*end.operands, *flags), (), location=end.location)
            end.erase()
        self._builder.insertion = self._builder.before(branch)
        types = [*(result.type for result in branch.results), *([builder.type("i1")] * len(new))]
        made = builder.operation("scf.if", tuple(branch.operands), tuple(types), regions=2, location=branch.location)
        for old, result in zip(list(branch.results), made.results, strict=False):
            old.replace_all_uses_with(result)
        builder.move_blocks(branch, made)
        return made

    def _tell(self, user: Operation, flag: Value) -> None:
        """A check in front of the use; in front of a loop that uses what was computed before it, if it runs."""
        place, home = user, _block_of(flag)
        while place.block != home and enclosing(place).name in _LOOPS:
            place = enclosing(place)
        if any((flag, around) in self._told for around in blocks_around(place)):
            return
        self._builder.insertion = self._builder.before(place)
        holds = self._builder.value("arith.xori", (flag, self._builder.constant(1, "i1")), "i1")
        excused = place != user and place.name == "scf.for"
        self._told.add((flag, body(place) if excused else place.block))
        if excused:
            idle = self._builder.compare("sge", place.operands[0], place.operands[1])
            holds = self._builder.value("arith.ori", (holds, idle), "i1")
        _check(self._builder, self._divisor, holds)


def _block_of(value: Value) -> Block:
    owner: Any = value.owner
    return owner if isinstance(owner, bindings.mlir().Block) else owner.operation.block  # type: ignore[no-any-return]


def _after(operation: Operation) -> Iterator[Operation]:
    """What follows an operation in its block."""
    every = operations(operation.block)
    yield from every[every.index(operation) + 1 :]
