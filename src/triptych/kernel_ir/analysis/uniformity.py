"""Uniformity analysis: which values are the same for a block or a warp, and which differ by known amounts.

Input: a `gpu.func` of structured control flow. Output: `Lanes` of every value, printable. Code generation for CPUs
turns uniform values into scalars and known differences into runs of memory; for GPUs it says which branches a warp
takes as one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import gcd

from triptych.ir.handles import Block, Operation, Value
from triptych.ir.types import int_width, is_pointer, is_vector
from triptych.kernel_ir.analysis import lanes as lattice
from triptych.kernel_ir.analysis.addresses import INDEXING, keeps_distances, step
from triptych.kernel_ir.analysis.lanes import VARYING, Lanes, Level, Linear, known, uniform
from triptych.kernel_ir.dialects.kernel_operations import (
    array_size,
    awaits_others,
    body,
    dimension,
    has,
    has_body,
    integer_constant,
    is_ordered,
    operations,
    traits,
    writes,
)
from triptych.kernel_ir.dialects.opdef import Result, Traits
from triptych.kernel_ir.dialects.simt import REDUCE, SHUFFLE
from triptych.support.dataclass import dataclass
from triptych.support.device_model import COMMON

_TWO_OPERANDS: dict[str, Callable[[Lanes, Lanes], Lanes]] = {
    "arith.addi": lattice.add,
    "arith.subi": lattice.subtract,
    "arith.divui": lattice.divide_unsigned,
    "arith.remui": lattice.remainder_unsigned,
    "arith.shli": lattice.shift_left,
    "arith.shrui": lattice.shift_right,
    "arith.shrsi": lattice.shift_right,
    "arith.andi": lambda a, b: lattice.bitwise(operator.and_, a, b),
    "arith.ori": lambda a, b: lattice.bitwise(operator.or_, a, b),
    "arith.xori": lambda a, b: lattice.bitwise(operator.xor, a, b),
}
_CASTS = frozenset(
    {
        *("arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "arith.index_castui"),
        *("llvm.inttoptr", "llvm.ptrtoint", "llvm.addrspacecast"),
    }
)
_INDEX_ARITHMETIC = frozenset({"arith.addi", "arith.subi", "arith.muli"})


@dataclass(frozen=True, slots=True)
class Shape:
    """How threads are numbered and run: how many are looked at together, a warp or a part of it, the block's dimensions
    where they are known now, and the lanes of a warp."""

    width: int
    block: tuple[int, int, int] | None
    lockstep: bool = True
    """Whether lanes do everything at one moment. Where they may run apart, what one reads another may read later, when
    it has changed, and the turns of a loop are one for the warp only if no lane leaves it before the others."""
    lanes: int = COMMON.lanes


class UniformityAnalysis:
    """The result, by MLIR value. `at` answers for every value of the kernel."""

    def __init__(
        self,
        kernel: Operation,
        shape: Shape,
        per_warp: frozenset[Operation] = frozenset(),
        by_element: frozenset[Value] = frozenset(),
    ) -> None:
        """`per_warp`: operations whose results a target computes for each warp although they are the same;
        `by_element`: arrays of threads (their addresses) that a target does not keep lane after lane.
        """
        self._by_element = by_element
        self._shape = shape
        self._per_warp = per_warp
        self._width = shape.width
        self._lanes: dict[Value, Lanes] = {}
        self._seen_by_warps: dict[Operation, bool] = {}
        entry = body(kernel)
        for argument in entry.arguments:
            self._lanes[argument] = self._uniform()
        self._region(entry, Level.WARP if awaits_others(kernel) else Level.BLOCK)

    @property
    def block(self) -> tuple[int, int, int] | None:
        """The block's dimensions, where they are known now."""
        return self._shape.block

    @property
    def lanes(self) -> int:
        """The lanes of a warp."""
        return self._shape.lanes

    def at(self, value: Value) -> Lanes:
        return self._lanes[value]

    def all(self, values: Sequence[Value]) -> tuple[Lanes, ...]:
        return tuple(self._lanes[value] for value in values)

    def report(self) -> list[tuple[str, str]]:
        """Every value with what is known of it, in program order."""
        return [(value.get_name(), str(found)) for value, found in self._lanes.items()]

    # regions ----------------------------------------------------------------------------------------------------
    def _uniform(self, level: Level = Level.BLOCK) -> Lanes:
        return uniform(level, self._width)

    def _region(self, block: Block, reads: Level) -> tuple[Lanes, ...]:
        """Analyse a block; what its terminator passes on. `reads` is the level of a load from a uniform address."""
        for operation in operations(block):
            if operation.name in ("scf.yield", "scf.condition", "gpu.return"):
                return self.all(list(operation.operands))
            self._operation(operation, reads)
        return ()

    def _operation(self, operation: Operation, reads: Level) -> None:
        name = operation.name
        if traits(operation).encloses:
            inside = Level.WARP if self._is_seen_by_warps(operation) else reads
            {"scf.if": self._if, "scf.for": self._for, "scf.while": self._while}[name](operation, inside)
            self._demote(operation)
            return
        results = list(operation.results)
        if not results:
            return
        operands = self.all(list(operation.operands))
        found = _in_type(self._transfer(operation, name, operands, reads), operation, name)
        if found.fixed and found.first is None and (bounds := self._bounds(operation, name, operands)) is not None:
            symbol = Linear(((results[0], 1),), 0, *bounds)
            found = known(found.level, found.offsets or (), found.divisor, None, _not_wrapped(symbol, found, operation))
        for result in results:
            self._lanes[result] = found
        self._demote(operation)

    def _is_seen_by_warps(self, operation: Operation) -> bool:
        """Whether warps run it one after the other, and one may see what another has written.

        Each answer takes a walk, and a loop asks in each of its rounds for all that is inside.
        """
        known = self._seen_by_warps.get(operation)
        if known is None:
            known = self._seen_by_warps[operation] = not has(operation, Traits.is_barrier) and writes(operation)
        return known

    def _demote(self, operation: Operation) -> None:
        if operation in self._per_warp:
            for result in operation.results:
                self._lanes[result] = _at_level(self._lanes[result], Level.WARP)

    def _if(self, operation: Operation, reads: Level) -> None:
        condition = self.at(operation.operands[0])
        sides = [self._region(body(operation, i), reads) for i in range(2) if has_body(operation, i)]
        for i, result in enumerate(operation.results):
            met = lattice.join(sides[0][i], sides[1][i])
            met = met if met.fixed else VARYING
            self._lanes[result] = _at_level(met, condition.level) if condition.uniform else _merged(sides, i)

    def _for(self, operation: Operation, reads: Level) -> None:
        low, high, step, *initial = self.all(list(operation.operands))
        block = body(operation)
        counter, *carried = block.arguments
        together = low.uniform and high.uniform and step.uniform
        drifts = not (together or self._shape.lockstep)
        self._lanes[counter] = VARYING if drifts else self._counter(low, high, step)
        initial = [VARYING] * len(initial) if drifts else initial
        ends = self._fixpoint(block, carried, initial, reads, max(low.level, high.level, step.level))
        for result, value in zip(operation.results, ends, strict=True):
            self._lanes[result] = value if together else VARYING

    def _counter(self, low: Lanes, high: Lanes, step: Lanes) -> Lanes:
        """Lanes of a loop step together, so the counter keeps the differences of its start."""
        if low.offsets is None or low.multiples or not step.uniform:
            return VARYING
        level = max(low.level, step.level, high.level if high.uniform else Level.WARP)
        if not low.uniform:
            level = max(level, Level.WARP)
        return known(level, low.offsets, gcd(low.divisor, step.divisor))

    def _fixpoint(
        self, block: Block, carried: Sequence[Value], initial: Sequence[Lanes], reads: Level, control: Level
    ) -> list[Lanes]:
        """Carried values start as what enters and widen until the body agrees."""
        current = [_carried(value, control) for value in initial]
        while True:
            self._lanes.update(zip(carried, current, strict=True))
            ends = self._region(block, reads)
            widened = [_carried(lattice.join(a, b), control) for a, b in zip(current, ends, strict=True)]
            if widened == current:
                return current
            current = widened

    def _while(self, operation: Operation, reads: Level) -> None:
        before, after = body(operation, 0), body(operation, 1)
        current = [_carried(value, Level.BLOCK) for value in self.all(list(operation.operands))]
        while True:
            self._lanes.update(zip(before.arguments, current, strict=True))
            condition, *passed = self._region(before, reads)
            passed = [_carried(value, Level.BLOCK) for value in passed]
            self._lanes.update(zip(after.arguments, passed, strict=True))
            ends = self._region(after, reads)
            control = condition.level if condition.uniform else Level.WARP
            widened = [_carried(lattice.join(a, b), control) for a, b in zip(current, ends, strict=True)]
            if not (condition.uniform or self._shape.lockstep):
                widened = [VARYING] * len(widened)
            if widened == current:
                break
            current = widened
        for result, value in zip(operation.results, passed, strict=True):
            self._lanes[result] = _at_level(value, condition.level) if condition.uniform else VARYING

    # operations -------------------------------------------------------------------------------------------------
    def _transfer(self, operation: Operation, name: str, operands: tuple[Lanes, ...], reads: Level) -> Lanes:
        if name in _TWO_OPERANDS and not is_vector(operation.results[0].type):
            return _TWO_OPERANDS[name](*operands)
        if name == "arith.muli" and not is_vector(operation.results[0].type):
            return self._product(operation, *operands)
        if name in _CASTS:
            return self._cast(operation, operands[0])
        if name == "arith.constant":
            constant = integer_constant(operation)
            return uniform(Level.BLOCK, self._width, constant=constant)
        if name == "arith.select":
            return self._select(*operands)
        if name == INDEXING:
            return self._address(operation, operands)
        if name == "llvm.load":
            return self._loaded(operation, operands[0], reads)
        if name == "llvm.alloca":
            return self._array(operation)
        if name in ("gpu.thread_id", "gpu.lane_id"):
            return self._thread(operation, name)
        if name == SHUFFLE:
            return self._shuffle(operation, operands)
        kind = traits(operation).result
        if kind is Result.UNIFORM:
            return self._agreed(operation, name, operands)
        if kind is Result.OF_THE_MOMENT:
            same = self._shape.lockstep and all(operand.uniform for operand in operands)
            return self._uniform(Level.WARP) if same else VARYING
        if kind is Result.DIVERGENT:
            return VARYING
        if not operands:
            return self._uniform()
        return lattice.elementwise(operands)

    def _bounds(self, operation: Operation, name: str, operands: tuple[Lanes, ...]) -> tuple[int, int] | None:
        """What lane 0 is at least and at most, where it is a small number that is none of other values."""
        if name == "gpu.thread_id" and self._shape.block is not None:
            return 0, self._shape.block[dimension(operation)] - 1
        if name not in ("arith.divui", "arith.remui") or not (operands[1].uniform and (operands[1].constant or 0) > 0):
            return None
        by, numerator = operands[1].constant or 1, operands[0].first
        if name == "arith.remui":
            return 0, by - 1
        return None if numerator is None or numerator.low < 0 else (numerator.low // by, numerator.high // by)

    def _loaded(self, operation: Operation, address: Lanes, reads: Level) -> Lanes:
        if not (address.uniform and self._shape.lockstep):
            return VARYING
        return uniform(max(reads, address.level, Level.WARP if is_ordered(operation) else reads), self._width)

    def _agreed(self, operation: Operation, name: str, operands: tuple[Lanes, ...]) -> Lanes:
        """What lanes found out together is the same for those that name the same lanes; the time is, at one moment."""
        members = operands[1 if name == REDUCE else 0] if traits(operation).collective else None
        same = self._shape.lockstep if members is None else members.uniform
        return uniform(Level.WARP, self._width) if same else VARYING

    def _cast(self, operation: Operation, operand: Lanes) -> Lanes:
        """Differences stay when no lane can wrap, and where only addresses are made of a signed number: see the
        decision on warps as vectors. Unsigned numbers wrap around at 0, next to addresses that are in use."""
        if operand.uniform:
            return operand
        result = operation.results[0]
        old, new = (int_width(value.type) or 64 for value in (operation.operands[0], result))
        if operand.multiples or new <= 8:
            return VARYING
        is_assumed = keeps_distances(operation) and _only_addresses(result)
        return operand if new <= old or operand.aligned or is_assumed else VARYING

    def _product(self, operation: Operation, left: Lanes, right: Lanes) -> Lanes:
        first, second = operation.operands
        return lattice.rows(right, left, first) if left.uniform else lattice.rows(left, right, second)

    def _shuffle(self, operation: Operation, operands: tuple[Lanes, ...]) -> Lanes:
        """One that reads the same lane of the whole warp gives every lane the same value."""
        _, value, source, clamp = operands
        if value.uniform:
            return _at_level(value, Level.WARP)
        whole = clamp.uniform and clamp.constant == self._width - 1
        reads_one = operation.attributes["kind"].value == "idx" and source.uniform and whole
        return uniform(Level.WARP, self._width) if reads_one else VARYING

    def _select(self, condition: Lanes, chosen: Lanes, other: Lanes) -> Lanes:
        if condition.constant is not None and condition.uniform:
            return chosen if condition.constant else other
        if not condition.uniform:
            return VARYING
        return _at_level(lattice.join(chosen, other), condition.level)

    def _address(self, operation: Operation, operands: tuple[Lanes, ...]) -> Lanes:
        found = step(operation)
        if found is None:
            return lattice.elementwise(operands)
        constant = found.index if isinstance(found.index, int) else None
        index = operands[1] if constant is None else uniform(Level.BLOCK, self._width, constant=constant)
        return lattice.add(operands[0], lattice.multiply(index, uniform(Level.BLOCK, self._width, constant=found.size)))

    def _array(self, operation: Operation) -> Lanes:
        """An array of each thread: by default lane after lane."""
        if operation.results[0] in self._by_element:
            return VARYING
        size = array_size(operation)
        return known(Level.WARP, tuple(lane * size for lane in range(self._width)))

    def _thread(self, operation: Operation, name: str) -> Lanes:
        width, shape = self._width, self._shape.block
        numbers = tuple(range(width))
        if name == "gpu.lane_id":
            return (
                known(Level.BLOCK, numbers, constant=0)
                if width == self._shape.lanes
                else known(Level.WARP, numbers, width)
            )
        axis = dimension(operation)
        if shape is None:
            return VARYING
        inside = 1  # threads of the lower dimensions
        for size in shape[:axis]:
            inside *= size
        size = shape[axis]
        whole = shape[0] * shape[1] * shape[2]
        if size == 1:
            return uniform(Level.BLOCK, width, constant=0)
        linear = known(Level.WARP, numbers, width)
        if inside > 1:
            linear = lattice.divide_unsigned(linear, uniform(Level.BLOCK, width, constant=inside))
        if inside * size != whole:
            linear = lattice.remainder_unsigned(linear, uniform(Level.BLOCK, width, constant=size))
        if whole <= width and linear.offsets is not None:
            return known(Level.BLOCK, linear.offsets, constant=0)  # lane 0 is the first thread
        return linear


def _only_addresses(value: Value) -> bool:
    """Whether everything made of a value is an address."""
    made, pending = {value}, [value]
    while pending:
        for use in pending.pop().uses:
            user = use.owner.operation
            if user.name == INDEXING:
                continue
            if user.name not in _INDEX_ARITHMETIC:
                return False
            result = user.results[0]
            if result not in made:
                made.add(result)
                pending.append(result)
    return True


def _in_type(found: Lanes, operation: Operation, name: str) -> Lanes:
    """A constant as the result's type holds it; differences that the type cannot hold wrap around, and are unknown."""
    bits = int_width(operation.results[0].type)
    if bits is not None and any(abs(offset) >> (bits - 1) for offset in found.offsets or ()):
        return VARYING
    if found.linear is not None and _not_wrapped(found.linear, found, operation) is None:
        return Lanes(found.level, found.offsets, found.divisor, None, found.multiples)
    if found.constant is None:
        return found
    if bits is None:
        return Lanes(found.level, found.offsets, found.divisor)
    source = int_width(operation.operands[0].type) if name in ("arith.extui", "arith.index_castui") else None
    return lattice.wrapped(found, bits, source)


def _not_wrapped(linear: Linear, lanes: Lanes, operation: Operation) -> Linear | None:
    """A sum of which no lane leaves the type of a result; of a cast, that is the same number in every type."""
    kind = operation.results[0].type
    offsets = lanes.offsets or (0,)
    most = 1 << (int_width(kind) or 64) - 1
    least = 0 if operation.name in _CASTS else -most
    fits = least <= linear.low + min(offsets) and linear.high + max(offsets) < most
    return linear if fits and not is_pointer(kind) and not lanes.multiples else None


def _at_level(value: Lanes, level: Level) -> Lanes:
    """A value that depends on a choice made at `level`."""
    if value.offsets is None or level <= value.level:
        return value
    return Lanes(level, value.offsets, value.divisor, None, value.multiples)


def _merged(sides: Sequence[tuple[Lanes, ...]], index: int) -> Lanes:
    """Lanes took different sides: only what is one and the same constant stays known."""
    first, second = (side[index] for side in sides)
    return first if first.constant is not None and first == second else VARYING


def _carried(value: Lanes, control: Level) -> Lanes:
    """A loop changes a value: nothing of it is constant."""
    if not value.fixed:
        return VARYING
    return Lanes(max(value.level, control), value.offsets, value.divisor)
