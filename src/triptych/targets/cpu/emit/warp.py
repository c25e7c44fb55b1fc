"""Warp state during emission: the value of each lane so far, the active mask, and the memory around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

from triptych.ir.handles import Block, InsertionPoint, Module, Operation, Type, Value
from triptych.ir.modules import append_ir, symbols
from triptych.ir.types import count_and_element, is_pointer
from triptych.kernel_ir.analysis.addresses import INDEXING
from triptych.kernel_ir.analysis.uniformity import UniformityAnalysis
from triptych.kernel_ir.dialects.kernel_operations import operations
from triptych.kernel_ir.dialects.tile import LOAD_MATRIX
from triptych.targets.cpu.emit.barrier_state import State
from triptych.targets.cpu.emit.lane_builder import LaneBuilder
from triptych.targets.cpu.emit.packed_sums import Slot
from triptych.targets.cpu.emit.values import (
    ArrayOfStructs,
    Emitted,
    PrivateArray,
    Scalar,
    StructOfArrays,
    Vector,
    plain_pointer,
)

# Which loads of matrices fill fragments and do nothing else: their registers go straight into arrays of the thread.
# Input: a `tile.load_matrix`. Output: for each of its registers the store that takes it, when all stand behind the
# load with nothing between that reads or writes: then load and stores may be done as one.

_BETWEEN = frozenset({INDEXING, "arith.constant"})
"""What may stand between a load and its stores."""


class FragmentStores:
    """Answers for one kernel. All loads of a block are looked at together: looking behind each takes quadratic time."""

    def __init__(self) -> None:
        self._found: dict[Operation, list[Operation] | None] = {}

    def of(self, load: Operation) -> list[Operation] | None:
        """The stores, in the order of the registers; None when a register has another use, or something is between."""
        if load not in self._found:
            self._look_at(load.block)
        return self._found[load]

    def _look_at(self, block: Block) -> None:
        load: Operation | None = None
        stores: dict[int, Operation] = {}
        for operation in operations(block):
            if operation.name == LOAD_MATRIX:
                self._found[operation] = None
                load, stores = operation, {}
            elif load is None or operation.name in _BETWEEN:
                continue
            elif (register := _register(load, operation)) is not None:
                stores[register] = operation
                if len(stores) == len(load.results):
                    self._found[load] = [stores[i] for i in range(len(stores))]
                    load = None
            else:
                load = None


def _register(load: Operation, store: Operation) -> int | None:
    """The number of the register that an operation stores, and that nobody else uses."""
    if store.name != "llvm.store":
        return None
    for i, result in enumerate(load.results):
        if store.operands[0] == result:
            return i if len(list(result.uses)) == 1 else None
    return None


Convert: TypeAlias = "Callable[[Warp, Operation], None]"
"""Writes one operation as code of a warp."""
Outer: TypeAlias = tuple[InsertionPoint | None, Value | None]
"""Where code went and which lanes were active before a region."""


class LaunchCoordinates:
    """Where in the launch the code runs: run-time values that the block function computes."""

    def __init__(self, block_ids: Sequence[Value], grid: Sequence[Value], block: Sequence[Value]) -> None:
        self.block_ids = block_ids
        self.grid = grid
        self.block = block


class Background(Protocol):
    """Where copies and products wait that are done later than they are asked for."""

    def put(
        self,
        state: State,
        kind: int,
        owner: Value,
        group: Value,
        values: Sequence[Value],
        act: Callable[[State | None, list[Value]], None],
        *,
        keeps_map: bool = False,
    ) -> None: ...

    def run_due(self, state: State, kind: int, owner: Value, before: Value) -> None: ...


class Observer:
    """Who observes what a kernel does while its code is written, and writes checks of it in debug builds."""

    handlers: Mapping[str, Callable[[Warp, Operation], None]] = {}
    """Operations that exist only to be observed."""

    # blocks -----------------------------------------------------------------------------------------------------
    def begin_block(self, position: LaunchCoordinates, threads: Value, shared: Value | None, size: Value) -> None:
        """Another block begins, or another cluster, with as many threads and bytes of shared memory (i32)."""

    def end_block(self) -> None:
        """It has ended."""

    # operations -------------------------------------------------------------------------------------------------
    def observes(self, operation: Operation) -> bool:
        """Whether anything is made of an operation: what is costly to find out is then found out."""
        return False

    def sync(self, warp: Warp, operation: Operation) -> None:
        """Active lanes fence, close or have awaited a group, arrive at their cluster's barrier or are behind it."""

    def phase(
        self, warp: Warp, operation: Operation, pointer: Value, lane: Value | None = None, *, over: bool = False
    ) -> None:
        """Active lanes, or one (an index), are about to do something with an mbarrier, or have seen its phase end."""

    def begins(
        self, warp: Warp, operation: Operation, lane: Value, low: Value, size: int | Value, barrier: Value | None = None
    ) -> None:
        """A thread (its lane is an i32) begins a copy or a product that reads or writes shared memory from there on.

        An mbarrier counts the bytes that a copy writes.
        """

    def tensor(
        self,
        warp: Warp,
        operation: Operation,
        rank: Value,
        address: Value,
        columns: int | Value,
        adds: Value | None = None,
    ) -> None:
        """A warp is about to take, use or give back columns of the tensor memory of a block of the cluster (i32)."""

    def reads(self, warp: Warp, operation: Operation, rank: Value, address: Value, columns: int, scales: bool) -> None:
        """A product is about to read A, or block scales, in columns of the tensor memory of a block."""

    def asks(self, warp: Warp, operation: Operation, lane: Value, barrier: Value, given: Value) -> None:
        """A thread asks for another cluster, and the mbarrier of its own block will say whether it is given (i32)."""


class ClusterInfo(Protocol):
    """The blocks of a cluster that have to do with each other."""

    blocks: int
    extents: tuple[int, int, int]

    def rank(self) -> Value: ...

    def state(self, rank: Value | None = None) -> State: ...


class BlockEnv:
    """The block function's memory: shared memory, arrays private to threads, scratch, and the record of a fault."""

    shared: Value | None
    """None where the launch provides no shared memory."""
    state: State | None = None
    """What warps that wait for each other share; None where no warp waits."""
    queue: Background | None = None
    """None where they are done at once."""
    observer: Observer
    """Who is told what the kernel does."""
    cluster: ClusterInfo | None = None
    """Those of a kernel whose blocks have to do with each other."""

    def __init__(self, module: Module) -> None:
        self.module = self._module = module
        self._defined: set[str] = set()
        self.fragment_stores = FragmentStores()

    def private(self, warp: Warp, root: Value) -> tuple[PrivateArray, Value]:
        """A private array and the address of this warp's part of it."""
        raise NotImplementedError

    def row(self, warp: Warp, root: Value, number: int) -> Value:
        """The address of an element, in all lanes, of a private array that is kept element by element."""
        array, base = self.private(warp, root)
        return warp.code.offset(base, number, warp.code.wide(array.element)) if number else base

    def slot(self, root: Value, element: int) -> Slot | None:
        """Where an element of a private array is that is kept beside others; None for all other elements."""
        return None

    def define(self, text: str) -> None:
        """Have functions and constants beside the function; they are MLIR text."""
        if text not in self._defined:
            self._defined.add(text)
            append_ir(self._module, text)

    def call(
        self, code: LaneBuilder, name: str, given: Sequence[Value], write: Callable[[Sequence[Value]], None]
    ) -> None:
        """Call a function beside the function; `write` writes it, with its arguments, when it is first called."""
        if name not in self._defined:
            self._defined.add(name)
            if name not in symbols(self._module):
                self._write(code, name, [value.type for value in given], write)
        code.operation("func.call", given, attributes={"callee": code.attribute(f'@"{name}"')})

    def _write(
        self, code: LaneBuilder, name: str, kinds: Sequence[Type], write: Callable[[Sequence[Value]], None]
    ) -> None:
        before = code.insertion
        function, entry = code.function(self._module, name, kinds, code.location)
        function.attributes["sym_visibility"] = code.string("private")
        function.attributes["llvm.passthrough"] = code.attribute('["noinline", "nounwind"]')
        code.enter(entry)
        write(list(entry.arguments))
        code.operation("func.return")
        code.leave(before)

    def scratch(self, kind: Type, role: str = "") -> Value:
        """Memory for one value of all lanes, used at once; the same one for every value of a type and a role."""
        raise NotImplementedError

    def fault(self, warp: Warp, thread: Value) -> None:
        """Record the thread (i32) that is about to fail a check."""
        raise NotImplementedError

    def poll(self, warp: Warp, loop: Operation) -> None:
        """Let a loop that may not end be interrupted, or let other warps run."""
        raise NotImplementedError

    def left(self, warp: Warp, loop: Operation) -> None:
        """A loop that waited has ended."""

    def barrier(self, warp: Warp, operation: Operation) -> None:
        """Meet other warps."""
        raise NotImplementedError

    def wait_until(
        self,
        warp: Warp,
        operation: Operation,
        holds: Callable[[], Value],
        awaited: tuple[Value, Value] | None = None,
    ) -> None:
        """Let other warps run until a condition holds, whose code `holds` writes wherever it is looked at.

        `awaited` is the address of the mbarrier, and the parity (i32), where it is one.
        """
        raise NotImplementedError

    def owner(self, warp: Warp, *, whole_group: bool = False) -> Value:
        """A number (i64) that only this warp has among those that run together, or its warpgroup."""
        raise NotImplementedError

    def of_rank(self, warp: Warp, operation: Operation, pointer: Value, rank: Value) -> Value:
        """The same place of shared memory in another block of the cluster; a block alone is its own."""
        return pointer


Observe: TypeAlias = Callable[[Operation, LaneBuilder, BlockEnv], Observer]
"""Makes the observer of a kernel."""


class Warp:
    """State of the conversion of one warp, or (without lanes) of the block as a whole."""

    def __init__(
        self,
        convert: Convert,
        code: LaneBuilder,
        analysis: UniformityAnalysis,
        position: LaunchCoordinates,
        arrays: BlockEnv,
        values: dict[Value, Emitted],
        number: Value | None,
        mask: Value | None,
    ) -> None:
        self._convert = convert
        self.code = code
        self.analysis = analysis
        self.position = position
        self.arrays = arrays
        self.values = values
        self._number = number
        """The warp's number (i32); None for code of the block."""
        self.mask = mask
        """Which lanes are active; None when all are."""
        self.done: set[Operation] = set()
        """Operations whose work others before them have done."""
        self._vectors: list[dict[Value, Value]] = [{}]
        """Vector forms of scalars, by the region that computed them."""

    @property
    def of_block(self) -> bool:
        """Whether this is code of the block as a whole."""
        return self._number is None

    @property
    def number(self) -> Value:
        """The warp's number (i32); code of the block has none."""
        assert self._number is not None, "code of the block asks no warp for its number"
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
        if isinstance(found, Vector):
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

    def rows(self, value: Value) -> list[Value]:
        """The elements of a vector, each over the lanes."""
        found = self.values[value]
        if isinstance(found, StructOfArrays):
            return found.rows
        counted = count_and_element(value.type)
        assert counted is not None, "the value is a vector of the thread"
        return [self.row(value, i) for i in range(counted[0])]

    def row(self, value: Value, place: int) -> Value:
        """One element of a vector over the lanes; the others are not computed."""
        found, code = self.values[value], self.code
        if isinstance(found, StructOfArrays):
            return found.rows[place]
        counted = count_and_element(value.type)
        assert counted is not None, "the value is a vector of the thread"
        count, element = counted
        if isinstance(found, ArrayOfStructs):
            return code.element_of_lanes(found.value, place, count, element)
        assert isinstance(found, Scalar), "other forms of a vector are one for all lanes"
        for known in reversed(self._vectors):
            if value in known:
                return known[value]
        same = code.same_element(found.value, element)
        if same is None:
            return code.broadcast(code.extract(found.value, place, element), element)
        self._vectors[-1][value] = same
        return same

    def packed(self, value: Value) -> Value:
        """A vector in every lane as memory has it: one after the other."""
        found = self.values[value]
        assert isinstance(found, ArrayOfStructs), "the value is packed"
        return found.value

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
        if operation in self.done:
            return
        self.code.location = operation.location
        self._convert(self, operation)

    def take(self, load: Operation, stored: Value, element: int) -> None:
        """Give a load of one element the value that has been stored there."""
        counted = count_and_element(stored.type)
        self.set(load.results[0], Vector(self.row(stored, element) if counted else self.vector(stored)))

    def first_thread(self) -> Value:
        """The linear number of the thread in lane 0 (i32)."""
        return self.code.value("arith.muli", (self.number, self.code.constant(self.code.width, "i32")), "i32")

    def linear(self) -> Vector:
        """The linear numbers of the threads (i32)."""
        first = self.code.broadcast(self.first_thread(), "i32")
        numbers = self.code.constants(range(self.code.width), "i32")
        return Vector(self.code.value("arith.addi", (first, numbers), self.code.wide("i32")))

    # forms ------------------------------------------------------------------------------------------------------
    def forms(self, value: Value, known: bool) -> list[tuple[Type, Value]]:
        """The MLIR values (with types) that carry a value out of a region: a scalar, a vector, or one per element."""
        kind = plain_pointer(value.type)
        if known:
            return [(kind, self.scalar(value))]
        counted = count_and_element(kind)
        if counted:
            return [(self.code.wide(counted[1]), row) for row in self.rows(value)]
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
        return StructOfArrays(list(parts)) if count_and_element(value.type) else Vector(parts[0])

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
