"""Uninitialized values: taint that follows what a thread may have read from registers it has not set.

Input: a kernel, its register tensors, and the reads that are not proven. Output: every value that may be made of such
an element, the arrays that may hold one, and the places where it would matter: an address, a branch, a store to global
memory. Other threads and shared memory are not followed. What goes to shared memory counts as set, because kernels put
rows there that only some threads have loaded; but an array of which no write reaches a part is a fault there, too.
"""

from __future__ import annotations

from dataclasses import field

from triptych.ir.handles import Operation, Value
from triptych.ir.types import GLOBAL_SPACE, SHARED_SPACE, count_and_element, is_integer, is_vector, memory_space
from triptych.kernel_ir.analysis.addresses import base
from triptych.kernel_ir.analysis.uninitialized_registers import Registers, sums_of
from triptych.kernel_ir.dialects.kernel_operations import body, enclosing, is_described, is_mma, traits
from triptych.support.dataclass import dataclass

_ATOMIC = frozenset({"llvm.atomicrmw", "llvm.cmpxchg"})
_MASKING = frozenset({"arith.andi", "arith.ori"})
"""Of wide integers: bits of one operand decide which bits of the other count."""
_DECIDING = {"scf.condition": 1, "scf.for": 3}
"""How many operands say whether, or how often."""
STORE, ADDRESS, BRANCH = "stores it to global memory", "takes it for an address", "branches on it"
SHARE = "stores it to shared memory"
_STORES = {GLOBAL_SPACE: STORE, SHARED_SPACE: SHARE}


@dataclass(frozen=True, slots=True)
class Use:
    """A value that matters to an operation, and how."""

    operation: Operation
    value: Value
    verb: str


@dataclass(slots=True)
class UnsetValues:
    """What may be unset."""

    values: set[Value] = field(default_factory=set)
    arrays: set[Value] = field(default_factory=set)
    """Which need to be followed while the kernel runs."""
    uses: list[Use] = field(default_factory=list)


def unset_values(registers: dict[Value, Registers], unproven: set[Operation], certain: set[Operation]) -> UnsetValues:
    """Follow every unproven read; those of parts that nobody writes, `certain`, as far as shared memory."""
    found = _followed(registers, unproven, GLOBAL_SPACE)
    if certain:
        found.uses += [use for use in _followed(registers, certain, SHARED_SPACE).uses if use.verb == SHARE]
    return found


def _followed(registers: dict[Value, Registers], unproven: set[Operation], space: int) -> UnsetValues:
    flow = _Flow(registers, space)
    for array, found in registers.items():
        for access in found.accesses:
            if access in unproven and access.name == "llvm.load":
                flow.found.arrays.add(array)
                flow.add(access.results[0])
            elif access in unproven and sums_of(access)[0] == array:
                flow.spoil(array)
                flow.spoil(access.operands[0])
    flow.run()
    return flow.found


class _Flow:
    def __init__(self, registers: dict[Value, Registers], space: int) -> None:
        self.found = UnsetValues()
        self._registers = registers
        self._space = space
        """Of memory to which a store of an unset value matters."""
        self._spoilt: set[Value] = set()
        """Arrays that an unset value may be stored to."""
        self._pending: list[Value] = []

    def add(self, value: Value) -> None:
        if value not in self.found.values and _is_followed(value):
            self.found.values.add(value)
            self._pending.append(value)

    def spoil(self, array: Value) -> None:
        """All reads of an array may give unset values, and so may all sums that begin with it."""
        if array in self._spoilt or array not in self._registers:
            return
        self._spoilt.add(array)
        self.found.arrays.add(array)
        for access in self._registers[array].accesses:
            if access.name == "llvm.load":
                self.add(access.results[0])
            elif is_mma(access) and sums_of(access)[0] == array:
                self.spoil(access.operands[0])

    def run(self) -> None:
        while self._pending:
            value = self._pending.pop()
            for use in value.uses:
                self._use(use.owner.operation, use.operand_number, value)

    def _matters(self, operation: Operation, value: Value, verb: str) -> None:
        self.found.uses.append(Use(operation, value, verb))

    def _use(self, user: Operation, number: int, value: Value) -> None:
        name = user.name
        if name == "llvm.store" and number == 0:
            self._stored(user, value)
        elif name in ("llvm.load", "llvm.store") or name in _ATOMIC:
            self._matters(user, value, ADDRESS if number == (name == "llvm.store") else STORE)
        elif name in ("scf.if", "cf.assert") or number < _DECIDING.get(name, 0):
            self._matters(user, value, BRANCH)
        elif name in ("scf.for", "scf.while", "scf.yield", "scf.condition"):
            self._carried(user, number)
        elif passes_on(user):
            for result in user.results:
                self.add(result)

    def _stored(self, store: Operation, value: Value) -> None:
        address = store.operands[1]
        if base(address) in self._registers:
            self.spoil(base(address))
        elif memory_space(address.type) == self._space:
            self._matters(store, value, _STORES[self._space])

    def _carried(self, user: Operation, number: int) -> None:
        for value in carried_to(user, number):
            self.add(value)


def carried_to(user: Operation, number: int) -> list[Value]:
    """The values that an operand of control flow becomes."""
    if user.name == "scf.for":
        return [body(user).arguments[number - 2], user.results[number - 3]]
    if user.name == "scf.while":
        return [body(user).arguments[number]]
    around = enclosing(user)
    if user.name == "scf.condition":
        return [body(around, 1).arguments[number - 1], around.results[number - 1]]
    if around.name == "scf.while":
        return [body(around).arguments[number]]
    if around.name == "scf.for":
        return [body(around).arguments[number + 1], around.results[number]]
    return [around.results[number]]


def passes_on(operation: Operation) -> bool:
    """Whether results are made of operands by the thread alone."""
    if not is_described(operation) or not traits(operation).is_pure() or len(operation.regions):
        return False
    return operation.name not in _MASKING or is_truth(operation.results[0])


def is_truth(value: Value) -> bool:
    """Whether a value is one truth value."""
    return is_integer(value.type, 1)


def _is_followed(value: Value) -> bool:
    """Numbers, addresses and rows of numbers; not matrices."""
    return not is_vector(value.type) or count_and_element(value.type) is not None
