"""One warp as straight vector code: what a stretch of a kernel without barriers does, for all lanes at once.

Uniform values stay scalars. Where lanes take different ways, both ways run under a mask; a way that no lane takes is
skipped when it does more than compute. A loop runs until no lane is active.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from triptych.ir.errors import LoweringError
from triptych.ir.handles import Block, InsertionPoint, Operation, Type, Value
from triptych.ir.location import place_of
from triptych.ir.types import count_and_element, int_width, is_pointer
from triptych.simt import addresses
from triptych.simt.operations import dimension, is_pure, pointee
from triptych.simt.uniformity import UniformityAnalysis
from triptych.targets.cpu.simt import (
    atomics,
    branching,
    collectives,
    intrinsics,
    looping,
    matrices,
    memory,
    thread_vectors,
)
from triptych.targets.cpu.simt.code import Code
from triptych.targets.cpu.simt.environment import Arrays
from triptych.targets.cpu.simt.values import Emitted, Private, Rows, Scalar, Wide, plain_pointer

_HANDLERS = {
    **branching.HANDLERS,
    **looping.HANDLERS,
    **memory.HANDLERS,
    **atomics.HANDLERS,
    **collectives.HANDLERS,
    **matrices.HANDLERS,
    **intrinsics.HANDLERS,
    **thread_vectors.HANDLERS,
}
_THREAD = frozenset({"gpu.thread_id", "gpu.block_id", "gpu.block_dim", "gpu.grid_dim", "gpu.lane_id"})


Outer: TypeAlias = tuple[InsertionPoint | None, Value | None]
"""Where code went and which lanes were active before a region."""


class Position:
    """Where in the launch the code runs: run-time values that the block function computes."""

    def __init__(self, block_ids: Sequence[Value], grid: Sequence[Value], block: Sequence[Value]) -> None:
        self.block_ids = block_ids
        self.grid = grid
        self.block = block


class Warp:
    """Converts operations for one warp, or (without lanes) for the block as a whole."""

    def __init__(
        self,
        code: Code,
        analysis: UniformityAnalysis,
        position: Position,
        arrays: Arrays,
        values: dict[Value, Emitted],
        number: Value | None,
        mask: Value | None,
    ) -> None:
        self.code = code
        self.analysis = analysis
        self.position = position
        self.arrays = arrays
        self.values = values
        self._number = number
        """The warp's number (i32); None for code of the block."""
        self.mask = mask
        """Which lanes are active; None when all are."""
        self._vectors: list[dict[Value, Value]] = [{}]
        """Vector forms of scalars, by the region that computed them."""

    @property
    def of_block(self) -> bool:
        """Whether this is code of the block as a whole."""
        return self._number is None

    @property
    def number(self) -> Value:
        """The warp's number (i32); code of the block has none."""
        assert self._number is not None
        return self._number

    # values -----------------------------------------------------------------------------------------------------
    def get(self, value: Value) -> Emitted:
        return self.values[value]

    def set(self, value: Value, emitted: Emitted) -> None:
        """Also again, when the same code is written twice."""
        self.values[value] = emitted
        for known in self._vectors:
            known.pop(value, None)

    def scalar(self, value: Value) -> Value:
        """The value of lane 0."""
        found = self.values[value]
        assert isinstance(found, Scalar), value
        return found.value

    def vector(self, value: Value) -> Value:
        """One element for each lane."""
        found = self.values[value]
        if isinstance(found, Wide):
            return found.value
        for known in reversed(self._vectors):
            if value in known:
                return known[value]
        assert isinstance(found, Scalar), value
        lanes, kind = self.analysis.at(value), plain_pointer(value.type)
        made = self.spread(found.value, kind, lanes.offsets or ())
        for number, times in lanes.multiples:
            made = self._add_rows(made, kind, number, times)
        self._vectors[-1][value] = made
        return made

    def _add_rows(self, vector: Value, kind: Type, number: Value, times: Sequence[int]) -> Value:
        """Add known multiples of a run-time number."""
        code, element = self.code, number.type
        lengths = code.broadcast(self.scalar(number), element)
        rows = code.value("arith.muli", (lengths, code.constants(times, element)), code.wide(element))
        if is_pointer(kind):
            return code.offset(vector, rows, "i8")
        return code.value("arith.addi", (vector, rows), code.wide(kind))

    def spread(self, scalar: Value, kind: Type, offsets: Sequence[int]) -> Value:
        """Lane 0 plus known differences as a vector."""
        if is_pointer(kind):
            steps = self.code.constants(offsets or [0] * self.code.width, "i64")
            return self.code.offset(scalar, steps, "i8")
        wide = self.code.broadcast(scalar, kind)
        if not any(offsets):
            return wide
        return self.code.value("arith.addi", (wide, self.code.constants(offsets, kind)), self.code.wide(kind))

    def lane(self, value: Value, lane: Value, kind: Type) -> Value:
        """The value in a lane that is known at run time (`index`)."""
        found = self.values[value]
        if isinstance(found, Scalar) and self.analysis.at(value).uniform:
            return found.value
        return self.code.extract_at(self.vector(value), lane, kind)

    # operations -------------------------------------------------------------------------------------------------
    def run(self, found: Sequence[Operation]) -> None:
        for operation in found:
            self.convert(operation)

    def convert(self, operation: Operation) -> None:
        """Convert one operation; its results get their values."""
        self.code.location = operation.location
        name = operation.name
        if self._is_number(operation, name):
            return
        if name in _HANDLERS:
            _HANDLERS[name](self, operation)
        elif name in _THREAD:
            self._index(operation, name)
        elif name == "llvm.getelementptr":
            self._address(operation)
        elif name == "arith.constant" or (is_pure(operation) and not len(operation.operands)):
            self._copy_constant(operation)
        elif name == "arith.select":
            self._select(operation)
        elif is_pure(operation):
            self.elementwise(operation)
        else:
            raise LoweringError(
                f"the CPU target cannot run {name} in a kernel", span=place_of(operation), found=str(operation)[:200]
            )

    def take(self, load: Operation, stored: Value, element: int) -> None:
        """Give a load of one element the value that has been stored there."""
        counted = count_and_element(stored.type)
        self.set(load.results[0], Wide(thread_vectors.rows(self, stored)[element] if counted else self.vector(stored)))

    def _is_number(self, operation: Operation, name: str) -> bool:
        """Whether the analysis knows the number of lane 0, so that nothing need be computed."""
        if not is_pure(operation) or len(operation.results) != 1:
            return False
        result = operation.results[0]
        number, kind = self.analysis.at(result).constant, result.type
        if number is None or int_width(kind) is None:
            return False
        self.set(result, Scalar(self.code.constant(number, kind)))
        return True

    def elementwise(self, operation: Operation) -> None:
        """The same operation on scalars, or on one element for each lane."""
        result, operands = operation.results[0], list(operation.operands)
        kind = plain_pointer(result.type)
        name, attributes = operation.name, {name: operation.attributes[name] for name in operation.attributes}
        if self.analysis.at(result).known and all(isinstance(self.values[o], Scalar) for o in operands):
            self.set(result, Scalar(self.code.value(name, [self.scalar(o) for o in operands], kind, attributes)))
        elif count_and_element(kind) or any(count_and_element(o.type) for o in operands):
            thread_vectors.elementwise(self, operation, attributes)
        else:
            vectors = [self.vector(operand) for operand in operands]
            if name in branching.DIVISIONS and self.mask is not None and not self.analysis.at(operands[1]).uniform:
                ones = self.code.dense(", ".join(["1"] * self.code.width), self.code.wide(kind))
                vectors[1] = self.code.select(self.mask, vectors[1], ones, self.code.wide(kind))
            self.set(result, Wide(self.code.value(name, vectors, self.code.wide(kind), attributes)))

    def _copy_constant(self, operation: Operation) -> None:
        result = operation.results[0]
        kind = plain_pointer(result.type)
        attributes = {name: operation.attributes[name] for name in operation.attributes}
        if operation.name == "llvm.mlir.addressof":
            assert self.arrays.shared is not None  # it is there when its address is taken
            self.set(result, Scalar(self.arrays.shared))
            return
        made = self.code.value(operation.name, (), kind, attributes)
        self.set(result, Scalar(made))

    def _select(self, operation: Operation) -> None:
        result, (condition, chosen, other) = operation.results[0], operation.operands
        decided = self.analysis.at(condition)
        if decided.uniform and decided.constant is not None:
            self.set(result, self.get(chosen if decided.constant else other))
        elif isinstance(self.get(chosen), Private):
            raise LoweringError("a choice between two register tensors at run time", span=place_of(operation))
        elif isinstance(self.get(condition), Scalar) and not count_and_element(condition.type):
            self._choose(operation, condition, chosen, other)
        else:
            self.elementwise(operation)

    def _choose(self, operation: Operation, condition: Value, chosen: Value, other: Value) -> None:
        """One condition for all lanes."""
        result = operation.results[0]
        if self.analysis.at(result).known and all(isinstance(self.get(v), Scalar) for v in (chosen, other)):
            self.elementwise(operation)
        elif count_and_element(result.type):
            thread_vectors.elementwise(self, operation, {})
        else:
            kind = self.code.wide(plain_pointer(result.type))
            made = self.code.select(self.scalar(condition), self.vector(chosen), self.vector(other), kind)
            self.set(result, Wide(made))

    # where a thread is ------------------------------------------------------------------------------------------
    def _index(self, operation: Operation, name: str) -> None:
        result = operation.results[0]
        if name == "gpu.lane_id":
            self.set(result, self._lane_id())
            return
        axis = dimension(operation)
        if name == "gpu.thread_id":
            self.set(result, self._thread(result, axis))
            return
        kinds = {"gpu.block_id": "block_ids", "gpu.block_dim": "block", "gpu.grid_dim": "grid"}
        value = getattr(self.position, kinds[name])[axis]
        self.set(result, Scalar(self.code.value("arith.index_castui", (value,), "index")))

    def _lane_id(self) -> Emitted:
        if self.code.width == self.analysis.lanes:
            return Scalar(self.code.constant(0, "index"))
        bits = self.code.constant(self.analysis.lanes - 1, "i32")
        inside = self.code.value("arith.andi", (self.first_thread(), bits), "i32")
        return Scalar(self.code.value("arith.index_castui", (inside,), "index"))

    def first_thread(self) -> Value:
        """The linear number of the thread in lane 0 (i32)."""
        return self.code.value("arith.muli", (self.number, self.code.constant(self.code.width, "i32")), "i32")

    def linear(self) -> Wide:
        """The linear numbers of the threads (i32)."""
        first = self.code.broadcast(self.first_thread(), "i32")
        numbers = self.code.constants(range(self.code.width), "i32")
        return Wide(self.code.value("arith.addi", (first, numbers), self.code.wide("i32")))

    def _thread(self, result: Value, axis: int) -> Emitted:
        known = self.analysis.at(result)
        if known.constant is not None:
            return Scalar(self.code.constant(known.constant, "index"))
        if known.known:
            kind, first = self.code.builder.type("i32"), self.first_thread()
            sizes = [self.position.block[i] for i in range(3)]
        else:
            kind, first = self.code.wide("i32"), self.linear().value
            sizes = [self.code.broadcast(self.position.block[i], "i32") for i in range(3)]
        for size in sizes[:axis]:
            first = self.code.value("arith.divui", (first, size), kind)
        if axis < 2:
            first = self.code.value("arith.remui", (first, sizes[axis]), kind)
        index = "index" if known.known else self.code.wide("index")
        made = self.code.value("arith.index_castui", (first,), index)
        return Scalar(made) if known.known else Wide(made)

    # addresses --------------------------------------------------------------------------------------------------
    def _address(self, operation: Operation) -> None:
        result, base = operation.results[0], operation.operands[0]
        element, taken = pointee(operation), addresses.step(operation)
        if taken is None:
            raise LoweringError("an address of several indices", span=place_of(operation), found=str(operation)[:200])
        found = self.get(base)
        index = taken.index
        if isinstance(found, Private):
            self.set(result, self._private_element(found, index, taken.size // found.size))
        elif self.analysis.at(result).known:
            step = index if isinstance(index, int) else self.scalar(index)
            self.set(result, Scalar(self.code.offset(self.scalar(base), step, element)))
        elif isinstance(index, int):
            start = self.vector(base)
            steps = self.code.constants([index] * self.code.width, "i64")
            self.set(result, Wide(self.code.offset(start, steps, element)))
        else:
            steps = self.vector(index)
            from_scalar = isinstance(found, Scalar) and self.analysis.at(base).uniform
            start = self.scalar(base) if from_scalar else self.vector(base)
            self.set(result, Wide(self.code.offset(start, steps, element)))

    def _private_element(self, base: Private, index: Value | int, together: int) -> Private:
        """The element `index` words of `together` elements further."""
        if isinstance(index, int):
            return replace(base, index=base.index + index * together)
        uniform = self.analysis.at(index).uniform
        added: Scalar | Wide = Scalar(self.scalar(index)) if uniform else Wide(self.vector(index))
        if together > 1:
            added = self._times(added, together)
        if base.dynamic is None:
            return replace(base, dynamic=added)
        if isinstance(added, Scalar) and isinstance(base.dynamic, Scalar):
            total = self.code.value("arith.addi", (base.dynamic.value, added.value), "i64")
            return replace(base, dynamic=Scalar(total))
        sides = [
            part.value if isinstance(part, Wide) else self.code.broadcast(part.value, "i64")
            for part in (base.dynamic, added)
        ]
        return replace(base, dynamic=Wide(self.code.value("arith.addi", sides, self.code.wide("i64"))))

    def _times(self, number: Scalar | Wide, factor: int) -> Scalar | Wide:
        if isinstance(number, Scalar):
            return Scalar(self.code.value("arith.muli", (number.value, self.code.constant(factor, "i64")), "i64"))
        factors = self.code.constants([factor] * self.code.width, "i64")
        return Wide(self.code.value("arith.muli", (number.value, factors), self.code.wide("i64")))

    # forms ------------------------------------------------------------------------------------------------------
    def forms(self, value: Value, known: bool) -> list[tuple[Type, Value]]:
        """The MLIR values (with types) that carry a value out of a region: a scalar, a vector, or one per element."""
        kind = plain_pointer(value.type)
        if known:
            return [(kind, self.scalar(value))]
        counted = count_and_element(kind)
        if counted:
            return [(self.code.wide(counted[1]), row) for row in thread_vectors.rows(self, value)]
        return [(self.code.wide(kind), self.vector(value))]

    def form_types(self, value: Value, known: bool) -> list[Type]:
        kind = plain_pointer(value.type)
        if known:
            return [kind]
        counted = count_and_element(kind)
        return [self.code.wide(counted[1])] * counted[0] if counted else [self.code.wide(kind)]

    def known(self, values: Sequence[Value]) -> list[bool]:
        """Which of several values are carried as scalars."""
        return [self.analysis.at(value).known for value in values]

    def parts(self, values: Sequence[Value], known: Sequence[bool]) -> list[Value]:
        """The forms of several values, one after the other."""
        return [part for value, simple in zip(values, known, strict=True) for _, part in self.forms(value, simple)]

    def part_types(self, values: Sequence[Value], known: Sequence[bool]) -> list[Type]:
        return [kind for value, simple in zip(values, known, strict=True) for kind in self.form_types(value, simple)]

    def rebuild(self, value: Value, known: bool, parts: Sequence[Value]) -> Emitted:
        if known:
            return Scalar(parts[0])
        return Rows(list(parts)) if count_and_element(value.type) else Wide(parts[0])

    def bind(self, values: Sequence[Value], parts: Sequence[Value], known: Sequence[bool]) -> None:
        """Give values what a region carries for them."""
        at = 0
        for value, simple in zip(values, known, strict=True):
            count = len(self.form_types(value, simple))
            self.set(value, self.rebuild(value, simple, parts[at : at + count]))
            at += count

    # control flow -----------------------------------------------------------------------------------------------
    def open_region(self) -> None:
        """Vector forms made from now on are forgotten at `close_region`."""
        self._vectors.append({})

    def close_region(self) -> None:
        self._vectors.pop()

    def region(self, block: Block, found: Sequence[Operation], mask: Value | None) -> Outer:
        """Convert operations into `block` under `mask`; gives what `leave` of the region needs."""
        outer = (self.code.enter(block), self.mask)
        self.mask = mask
        self._vectors.append({})
        self.run(found)
        return outer

    def leave(self, outer: Outer) -> None:
        before, self.mask = outer
        self._vectors.pop()
        self.code.leave(before)
