"""Stack slot of an address, as far as the offsets from its start are known before a run."""

from __future__ import annotations

from dataclasses import dataclass

from triptych.ir.handles import Operation, Value
from triptych.ir.types import byte_size
from triptych.kernel_ir.analysis.addresses import base, steps
from triptych.kernel_ir.dialects.kernel_operations import body, defining_op, operations, owner_op, pointee, producer


@dataclass(frozen=True, slots=True)
class PrivatePlace:
    """An address `offset` bytes after the start of an array that every thread has for itself."""

    array: Value
    offset: int

    @property
    def element_bytes(self) -> int:
        """Of an element of the array."""
        return byte_size(pointee(producer(self.array)))

    @property
    def bytes_left(self) -> int:
        """From the address to the end of the array."""
        count = int(producer(producer(self.array).operands[0]).attributes["value"].value)
        return count * self.element_bytes - self.offset


def is_private(operation: Operation | None) -> bool:
    """Whether an operation makes an array that every thread has for itself, or an address in one."""
    return operation is not None and len(operation.results) == 1 and is_array(base(operation.results[0]))


def private_place(address: Value) -> PrivatePlace | None:
    """Where an address lies that was made from an array by offsets which are all known."""
    array, found = steps(address)
    offsets = [step.index * step.size for step in found if isinstance(step.index, int)]
    return PrivatePlace(array, sum(offsets)) if is_array(array) and len(offsets) == len(found) else None


def is_array(value: Value) -> bool:
    """Whether a value is the start of an array that every thread has for itself."""
    made = defining_op(value)
    return made is not None and made.name == "llvm.alloca"


def is_in_arrays(address: Value) -> bool:
    """Whether an address can only lie in arrays that every thread has for itself, also where branches and loops pass
    on which of them."""
    pending, seen = [base(address)], set[Value]()
    while pending:
        value = pending.pop()
        if value in seen or is_array(value):
            continue
        seen.add(value)
        found = sources(value)
        if not found:
            return False
        pending += map(base, found)
    return True


def sources(value: Value) -> list[Value]:
    """The values one of which a value is; none where that is not known."""
    made = defining_op(value)
    if made is None:
        return _entering(value, owner_op(value))
    if made.name == "arith.select":
        return list(made.operands)[1:]
    if made.name not in ("scf.if", "scf.for", "scf.while"):
        return []
    number = list(made.results).index(value)
    if made.name == "scf.if":
        return [_end(made, side).operands[number] for side in range(2)]
    if made.name == "scf.while":
        return [_end(made, 0).operands[number + 1]]
    return [made.operands[number + 3], _end(made, 0).operands[number]]


def _entering(argument: Value, loop: Operation) -> list[Value]:
    """What a block of a loop is entered with."""
    if loop.name == "scf.for":
        number = list(body(loop).arguments).index(argument) - 1
        return [loop.operands[number + 3], _end(loop, 0).operands[number]] if number >= 0 else []
    if loop.name != "scf.while":
        return []
    first, second = (list(body(loop, region).arguments) for region in range(2))
    if argument in second:
        return [_end(loop, 0).operands[second.index(argument) + 1]]
    return [loop.operands[first.index(argument)], _end(loop, 1).operands[first.index(argument)]]


def _end(operation: Operation, region: int) -> Operation:
    return operations(body(operation, region))[-1]
