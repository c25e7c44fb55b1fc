"""Register tensors that a thread may read before it has written them: definite assignment, byte by byte.

Input: a kernel of structured control flow as it was traced. Output: the reads of arrays of a thread which are not
proven to come after a write of each byte, on every way that leads there. Loops of few iterations are gone through with
their numbers, since most register tensors are filled by such loops; what is not known counts as not written.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import field

from triptych.ir.handles import Block, Operation, Value
from triptych.ir.types import byte_size, int_width
from triptych.kernel_ir.analysis.addresses import INDEXING, base, private_place, step, steps
from triptych.kernel_ir.dialects.kernel_operations import (
    body,
    constant_of,
    defining_op,
    definition_of,
    enclosing,
    has_body,
    is_mma,
    operations,
    pointee,
    producer,
)
from triptych.kernel_ir.dialects.opdef import Accumulation
from triptych.support.dataclass import dataclass

_MOST_TURNS = 256
_MOST_VISITS = 50_000
"""Operations that are looked at in loops; those beyond it are not gone through turn by turn."""
REGISTER_BYTES = 4
REGISTERS_ATTRIBUTE = "triptych.registers"
"""Of an array of a thread in debug builds: the tensor that it is, in words."""

_Written = dict[Value, int]
"""For each array the bytes that are written on every way, as bits of a number."""


@dataclass(frozen=True, slots=True, eq=False)
class Registers:
    """An array of a thread whose every access is known: nothing else has its address."""

    array: Value
    size: int
    """In bytes."""
    accesses: list[Operation] = field(default_factory=list)
    """Loads, stores and products, in the order of their uses."""

    @property
    def whole(self) -> int:
        return (1 << self.size) - 1

    @property
    def allocation(self) -> Operation:
        return producer(self.array)


def registers_of(kernel: Operation) -> dict[Value, Registers]:
    """The arrays of a kernel that are only loaded, stored and multiplied, by the value of their address."""
    found = {}
    for operation in operations(body(kernel)):
        if operation.name == "llvm.alloca":
            count = int(producer(operation.operands[0]).attributes["value"].value)
            made = Registers(operation.results[0], count * byte_size(pointee(operation)))
            if _collect(made.array, made.accesses):
                found[made.array] = made
    return found


def _collect(address: Value, accesses: list[Operation]) -> bool:
    """Gather who accesses an address; False where somebody else may keep it."""
    for use in address.uses:
        user, number = use.owner.operation, use.operand_number
        if user.name == INDEXING and number == 0 and step(user) is not None:
            if not _collect(user.results[0], accesses):
                return False
        elif user.name == "llvm.load" or (user.name == "llvm.store" and number == 1) or is_mma(user):
            accesses.append(user)
        elif user.name != "llvm.ptrtoint" or not _is_only_compared(user.results[0]):
            return False
    return True


def _is_only_compared(number: Value) -> bool:
    """Whether the number of an address leads to assertions alone, as in tests of bounds and of alignment."""
    for use in number.uses:
        user = use.owner.operation
        is_arithmetic = user.name.startswith("arith.") and all(map(_is_only_compared, user.results))
        if user.name != "cf.assert" and not is_arithmetic:
            return False
    return True


def address_of(access: Operation) -> Value:
    """The address that a load or a store has."""
    return access.operands[1 if access.name == "llvm.store" else 0]


def accessed_bytes(access: Operation) -> int:
    """How many bytes a load or a store moves."""
    return byte_size(access.operands[0].type if access.name == "llvm.store" else access.results[0].type)


def product_bytes(product: Operation, operand: str) -> list[int]:
    """Where each register of an operand of a product begins in its array, in bytes."""
    array = product.operands["dabc".index(operand)]
    size = byte_size(pointee(producer(array)))
    return [place * size for place in product.attributes[operand]]


def sums_of(product: Operation) -> tuple[Value, list[int]]:
    """The array and the registers that a product adds to."""
    sums = _accumulation(product)
    return product.operands[sums.operand], product_bytes(product, sums.places)


def accumulates_if(product: Operation) -> Value | None:
    """The number (i1) without which a product begins with zero; None if it always adds."""
    unless = _accumulation(product).unless
    return None if unless is None else product.operands[unless]


def _accumulation(product: Operation) -> Accumulation:
    definition = definition_of(product)
    assert definition is not None, f"{product.name} has no definition"
    assert definition.accumulates is not None, f"{product.name} is no product"
    return definition.accumulates


def unproven_reads(kernel: Operation, registers: dict[Value, Registers]) -> tuple[set[Operation], set[Operation]]:
    """Loads, and products that add to registers, which may come before a write; of the loads those of bytes that no
    write of the kernel reaches."""
    analysis = _Assignment(registers)
    analysis.block(body(kernel), dict.fromkeys(registers, 0), {})
    return analysis.unproven, {
        load for load, touched in analysis.loaded.items() if touched & ~analysis.ever[base(address_of(load))]
    }


class _Assignment:
    def __init__(self, registers: dict[Value, Registers]) -> None:
        self.unproven: set[Operation] = set()
        self.ever: _Written = dict.fromkeys(registers, 0)
        """For each array the bytes that some write may reach."""
        self.loaded: dict[Operation, int] = {}
        """For each unproven load of a place that is known the bytes that it reads."""
        self._registers = registers
        self._visits = 0
        self._relevant: set[Operation] = set()
        self._numbered: set[Operation] = set()
        """Loops whose turns differ in what they access."""
        for found in registers.values():
            for access in found.accesses:
                moves = access.name in ("llvm.load", "llvm.store")
                varies = moves and private_place(address_of(access)) is None
                self._mark(access, varies=varies)
        self._blocks: dict[Block, list[Operation]] = {}

    def _mark(self, access: Operation, *, varies: bool) -> None:
        around = access
        while around.name != "gpu.func":
            self._relevant.add(around)
            if varies and around.name == "scf.for":
                self._numbered.add(around)
            around = enclosing(around)

    def block(self, block: Block, written: _Written, numbers: Numbers) -> None:
        """What is written behind a block, given what was before it; `written` is changed."""
        known = self._blocks.get(block)
        if known is None:
            known = self._blocks[block] = [each for each in operations(block) if each in self._relevant]
        for operation in known:
            self._visits += 1
            self._operation(operation, written, numbers)

    def _operation(self, operation: Operation, written: _Written, numbers: Numbers) -> None:
        match operation.name:
            case "scf.if":
                self._if(operation, written, numbers)
            case "scf.for":
                self._for(operation, written, numbers)
            case "scf.while":
                self.block(body(operation), written, numbers)
                self.block(body(operation, 1), dict(written), numbers)
            case "llvm.load" | "llvm.store":
                self._access(operation, written, numbers)
            case _:
                self._product(operation, written)

    def _if(self, operation: Operation, written: _Written, numbers: Numbers) -> None:
        chosen = number_of(operation.operands[0], numbers)
        sides = [written, dict(written)]
        for side in range(2):
            if has_body(operation, side) and chosen in (None, 1 - side):
                self.block(body(operation, side), sides[side], numbers)
        for array in written:
            one, other = sides[0][array], sides[1][array]
            written[array] = one & other if chosen is None else one if chosen else other

    def _for(self, operation: Operation, written: _Written, numbers: Numbers) -> None:
        begin, end, by = (number_of(operand, numbers) for operand in list(operation.operands)[:3])
        turns = range(begin, end, by) if begin is not None and end is not None and by else None
        counter = body(operation).arguments[0]
        if turns is not None and operation in self._numbered and self._may_go_through(turns):
            for turn in turns:
                self.block(body(operation), written, {**numbers, counter: turn})
        else:
            inside = written if turns else dict(written)
            self.block(body(operation), inside, numbers)

    def _may_go_through(self, turns: Sequence[int]) -> bool:
        return len(turns) <= _MOST_TURNS and self._visits <= _MOST_VISITS

    def _access(self, operation: Operation, written: _Written, numbers: Numbers) -> None:
        array, found = steps(address_of(operation))
        if array not in self._registers:
            return
        offsets = [each.index if isinstance(each.index, int) else number_of(each.index, numbers) for each in found]
        known = [offset * each.size for offset, each in zip(offsets, found, strict=True) if offset is not None]
        is_known = len(known) == len(found)
        whole = self._registers[array].whole
        touched = ((1 << accessed_bytes(operation)) - 1) << max(0, sum(known)) if is_known else whole
        if operation.name == "llvm.load":
            if touched & whole & ~written[array]:
                self.unproven.add(operation)
                self.loaded[operation] = self.loaded.get(operation, 0) | (touched & whole if is_known else 0)
        else:
            self.ever[array] |= touched & whole
            written[array] |= touched & whole if is_known else 0

    def _product(self, operation: Operation, written: _Written) -> None:
        """A sum is as much written as what is added to. Factors are not looked at: their rows may be padding."""
        source, places = sums_of(operation)
        target = operation.operands[0]
        adds = accumulates_if(operation)
        begins_anew = adds is not None and constant_of(adds) == 0
        register = (1 << REGISTER_BYTES) - 1
        if source in self._registers and not begins_anew:
            wanted = _bits(places)
            if wanted & ~written[source]:
                self.unproven.add(operation)
        for place, begin in zip(product_bytes(operation, "d"), places, strict=True):
            if target not in self._registers:
                break
            self.ever[target] |= register << place
            is_set = begins_anew or source not in self._registers or (written[source] >> begin) & register == register
            if is_set:
                written[target] |= register << place


def _bits(places: Sequence[int]) -> int:
    found = 0
    for place in places:
        found |= ((1 << REGISTER_BYTES) - 1) << place
    return found


def only_products_write(found: Registers) -> bool:
    """Whether sums are all that is ever put into an array."""
    return not any(each.name == "llvm.store" for each in found.accesses)


def nobody_writes(found: Registers) -> bool:
    """Whether an array is only ever read."""
    return not any(
        each.name == "llvm.store" or (is_mma(each) and each.operands[0] == found.array) for each in found.accesses
    )


# Constant folding of integers that follow from trip counts of loops.
Numbers = dict[Value, int]
"""What counters of loops are, in the turn that is looked at."""

_MOST_DEPTH = 24
_SIGNED: dict[str, Callable[[int, int], int]] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.andi": operator.and_,
    "arith.ori": operator.or_,
    "arith.xori": operator.xor,
    "arith.minsi": min,
    "arith.maxsi": max,
}
_OF_NATURALS: dict[str, Callable[[int, int], int]] = {
    "arith.divui": operator.floordiv,
    "arith.divsi": operator.floordiv,
    "arith.floordivsi": operator.floordiv,
    "arith.remui": operator.mod,
    "arith.remsi": operator.mod,
    "arith.shrui": operator.rshift,
    "arith.shrsi": operator.rshift,
    "arith.shli": operator.lshift,
}
"""Where both are at least zero, and the second is not zero where it divides."""
_CASTS = frozenset(
    {"arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "arith.index_castui"},
)
_COMPARISONS: tuple[Callable[[int, int], bool], ...] = (
    *(operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge),
    *(operator.lt, operator.le, operator.gt, operator.ge),
)
_FIRST_UNSIGNED = 6
_MOST_SHIFT = 32


def number_of(value: Value, numbers: Numbers, depth: int = 0) -> int | None:
    """The integer that a value is in this turn; None where only a run tells, or the number is outside its type."""
    if value in numbers:
        return numbers[value]
    made = defining_op(value)
    if made is None or depth > _MOST_DEPTH or len(made.results) != 1:
        return None
    if made.name == "arith.constant":
        return constant_of(value)
    operands = [number_of(operand, numbers, depth + 1) for operand in _operands(made)]
    found = [each for each in operands if each is not None]
    if not operands or len(found) != len(operands):
        return None
    result, width = _computed(made, found), int_width(value.type)
    if result is None or width is None:
        return None
    low, high = (0, 2) if width == 1 else (-(1 << (width - 1)), 1 << (width - 1))
    return result if low <= result < high else None


def _operands(made: Operation) -> list[Value]:
    known = made.name in _SIGNED or made.name in _OF_NATURALS or made.name in _CASTS or made.name == "arith.cmpi"
    return list(made.operands) if known else []


def _computed(made: Operation, found: list[int]) -> int | None:
    name = made.name
    if name in _CASTS:
        is_truth = int_width(made.operands[0].type) == 1 and name == "arith.extsi"
        return found[0] if not is_truth and (found[0] >= 0 or name in ("arith.extsi", "arith.index_cast")) else None
    if name in _SIGNED:
        return _SIGNED[name](*found)
    if name == "arith.cmpi":
        predicate = int(made.attributes["predicate"].value)
        fits = predicate < _FIRST_UNSIGNED or min(found) >= 0
        return int(_COMPARISONS[predicate](*found)) if fits else None
    one, other = found
    shifts = name in ("arith.shli", "arith.shrui", "arith.shrsi")
    if one < 0 or other < (0 if shifts else 1) or (shifts and other > _MOST_SHIFT):
        return None
    return _OF_NATURALS[name](one, other)
