"""Block loop function `<name>.blocks` around a kernel's code: its arguments, shared memory, and its blocks.

Where blocks of a cluster have to do with each other a cluster takes the place of a block in that loop: its blocks run
together, and their shared memories lie side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from triptych.ir.handles import Attribute, InsertionPoint, Module, Operation, Type, Value
from triptych.ir.types import byte_size
from triptych.kernel_ir.dialects.kernel_attributes import device_of
from triptych.kernel_ir.dialects.kernel_operations import (
    CLUSTER_ATTRIBUTE,
    body,
    cluster_of,
    contains,
    known_block,
    producer,
    reaches_other_blocks,
)
from triptych.sanitizer.checkers import warp_order
from triptych.targets.cpu.abi.abi import ALIGNMENT, BLOCK_MEMORY, SHARED_ALIGNMENT, STACK_BYTES, padded, padded_value
from triptych.targets.cpu.abi.kernel_functions import FAULT_ATTRIBUTE, MEMORY_ATTRIBUTE
from triptych.targets.cpu.emit.lane_builder import LaneBuilder
from triptych.targets.cpu.emit.values import plain_pointer
from triptych.targets.cpu.emit.warp import LaunchCoordinates, Observer

# Function memory of code that runs warps: arrays, scratch, and the record of a failing thread.


def insert_here(code: LaneBuilder) -> InsertionPoint:
    """The insertion point where `code` writes now, for later."""
    return code.before(producer(code.constant(0, "i64")))


class FunctionMemory:
    """Allocates on the stack, at the start of a function, so that no loop makes it grow."""

    def __init__(self, code: LaneBuilder) -> None:
        self._code = code
        self._point = insert_here(code)
        self.fault_record = self.allocate(
            code.type("!llvm.array<4 x i32>"), 1, {FAULT_ATTRIBUTE: code.attribute("unit")}
        )

    def allocate(self, kind: Type, count: int, attributes: dict[str, Attribute] | None = None) -> Value:
        """Room for `count` values, for as long as the function runs."""
        code = self._code
        before, code.insertion = code.insertion, self._point
        made = code.value(
            "llvm.alloca",
            (code.constant(count, "i64"),),
            "!llvm.ptr",
            {
                "elem_type": code.type_attribute(kind),
                "alignment": code.integer("i64", ALIGNMENT),
                **(attributes or {}),
            },
        )
        code.insertion = before
        return made

    def write_fault(self, block_ids: Sequence[Value], thread: Value) -> None:
        """Write down the thread that is about to fail a check."""
        for i, value in enumerate([*block_ids, thread]):
            self._code.store(value, self._code.offset(self.fault_record, i, "i32"), 4)


# Memory of the function that runs blocks: on the stack what LLVM may turn into registers, in an arena what is large.
# The thread that runs a block has an arena that the launch has made large enough (`pool_memory_code`): shared memory
# at its start, then what is too large for a stack. One block's part is one stretch, so that several fit side by side.


class BlockMemory(FunctionMemory):
    """Allocates for one block at a time, or for the blocks of a cluster together."""

    def __init__(self, code: LaneBuilder, shared_bytes: Value | None, blocks: int) -> None:
        self.arena_bytes = 0
        self._stack_bytes = 0
        super().__init__(code)
        self.shared: Value | None = None
        """Of the first block."""
        self.distance = self._arena_start = code.constant(0, "i64")
        """From the shared memory of a block to that of the next one of its cluster, in bytes (i64)."""
        if shared_bytes is not None:
            self.shared = self._part(self._arena_start)
            each = code.value("arith.extui", (shared_bytes,), "i64")
            self.distance = padded_value(code, each) if blocks == 1 else padded_value(code, each, SHARED_ALIGNMENT)
            self._arena_start = code.value("arith.muli", (self.distance, code.constant(blocks, "i64")), "i64")
        self._after_start = insert_here(code)

    def allocate(self, kind: Type, count: int, attributes: dict[str, Attribute] | None = None) -> Value:
        size = padded(byte_size(kind) * count)
        if self._stack_bytes + size <= STACK_BYTES:
            self._stack_bytes += size
            return super().allocate(kind, count, attributes)
        code = self._code
        offset, self.arena_bytes = self.arena_bytes, self.arena_bytes + size
        before, code.insertion = code.insertion, self._after_start
        made = self._part(code.value("arith.addi", (self._arena_start, code.constant(offset, "i64")), "i64"))
        code.insertion = before
        return made

    def _part(self, offset: Value) -> Value:
        return self._code.call(BLOCK_MEMORY, (offset,), ["!llvm.ptr"]).result


class LaunchFrame:
    """`<name>.blocks(kernel arguments, grid x 3, block x 3, shared bytes, begin, end)`."""

    def __init__(self, kernel: Operation, module: Module, code: LaneBuilder) -> None:
        self._code = code
        code.location = kernel.location
        kinds = [plain_pointer(a.type) for a in body(kernel).arguments] + ["i32"] * 7 + ["i64"] * 2
        types = [code.type(kind) for kind in kinds]
        name = f"{kernel.attributes['sym_name'].value}.blocks"
        self.function, entry = code.function(module, name, types, code.location)
        self.function.attributes["sym_visibility"] = code.string("private")
        code.insertion = code.at_end(entry)
        values = list(entry.arguments)
        self.arguments = values[:-9]
        self._grid, self._block = values[-9:-6], values[-6:-3]
        self._shared_bytes, self._begin, self._end = values[-3:]
        size = known_block(kernel)
        if size is not None:
            self._block = [code.constant(n, "i32") for n in size]
        has_shared = contains(kernel, frozenset({"llvm.mlir.addressof"}))
        self.cluster = cluster_of(kernel) if reaches_other_blocks(kernel) else (1, 1, 1)
        self.blocks = prod(self.cluster)
        """Blocks that run together."""
        if self.blocks > 1:
            sizes = code.attribute(f"array<i32: {', '.join(map(str, self.cluster))}>")
            self.function.attributes[CLUSTER_ATTRIBUTE] = sizes
        self.memory = BlockMemory(code, self._shared_bytes if has_shared else None, self.blocks)
        self.shared = self.memory.shared
        known = prod(size) if size is not None else None
        self.most_warps = -(-(known or device_of(kernel).threads) // code.width)
        self.whole_warps = known is not None and known % code.width == 0
        """Whether every lane of every warp is a thread."""
        self.threads, self.warps = self._counts(known)

    def build(self, run: Callable[[LaunchCoordinates], None], observer: Observer) -> None:
        """Write the loop; `run` writes what one block does, or a whole cluster, given its first block."""
        code = self._code
        loop = code.operation("scf.for", (self._begin, self._end, code.constant(1, "i64")), regions=1)
        inside = code.append_block(loop, 0, ["i64"])
        before = code.enter(inside)
        position = LaunchCoordinates(self._block_ids(inside.arguments[0]), self._grid, self._block)
        threads, size = self._together()
        observer.begin_block(position, threads, self.shared, size)
        run(position)
        observer.end_block()
        code.operation("scf.yield")
        code.leave(before)
        code.operation("func.return")
        self.function.attributes[MEMORY_ATTRIBUTE] = code.integer("i64", self.memory.arena_bytes)

    def _together(self) -> tuple[Value, Value]:
        """Threads, and bytes of shared memory, of the blocks that run together (i32)."""
        code = self._code
        if self.blocks == 1:
            return self.threads, self._shared_bytes
        blocks = code.constant(self.blocks, "i32")
        distance = code.value("arith.trunci", (self.memory.distance,), "i32")
        threads, size = (code.value("arith.muli", (each, blocks), "i32") for each in (self.threads, distance))
        return threads, size

    def _counts(self, known: int | None) -> tuple[Value, Value]:
        """Threads and warps of a block (i32)."""
        code, width, block = self._code, self._code.width, self._block
        if known is not None:
            return code.constant(known, "i32"), code.constant(self.most_warps, "i32")
        counted = code.value("arith.muli", (code.value("arith.muli", block[:2], "i32"), block[2]), "i32")
        more = code.value("arith.addi", (counted, code.constant(width - 1, "i32")), "i32")
        return counted, code.value("arith.divui", (more, code.constant(width, "i32")), "i32")

    def block_of_cluster(self, first: LaunchCoordinates, rank: Value) -> LaunchCoordinates:
        """The position of a block by its rank (i32) in the cluster."""
        if self.blocks == 1:
            return first
        code, ids, rest = self._code, [], rank
        for start, extent in zip(first.block_ids, self.cluster, strict=True):
            size = code.constant(extent, "i32")
            within = code.value("arith.remui", (rest, size), "i32")
            rest = code.value("arith.divui", (rest, size), "i32")
            ids.append(code.value("arith.addi", (start, within), "i32"))
        return LaunchCoordinates(ids, first.grid, first.block)

    def _block_ids(self, number: Value) -> Sequence[Value]:
        return first_block(self._code, number, self._grid, self.cluster)


def first_block(code: LaneBuilder, number: Value, grid: Sequence[Value], cluster: Sequence[int]) -> Sequence[Value]:
    """The index (i32) of a block by its number (i64), or of the first block of a cluster: along x first."""
    wide = [_units(code, blocks, extent) for blocks, extent in zip(grid[:2], cluster, strict=False)]
    rest = code.value("arith.divui", (number, wide[0]), "i64")
    ids = [
        code.value("arith.remui", (number, wide[0]), "i64"),
        code.value("arith.remui", (rest, wide[1]), "i64"),
        code.value("arith.divui", (rest, wide[1]), "i64"),
    ]
    narrow = [code.value("arith.trunci", (one,), "i32") for one in ids]
    if prod(cluster) == 1:
        return narrow
    extents = [code.constant(extent, "i32") for extent in cluster]
    return [code.value("arith.muli", pair, "i32") for pair in zip(narrow, extents, strict=True)]


def _units(code: LaneBuilder, blocks: Value, extent: int) -> Value:
    """How many blocks, or clusters, there are along an axis (i64)."""
    wide = code.value("arith.extui", (blocks,), "i64")
    return wide if extent == 1 else code.value("arith.divui", (wide, code.constant(extent, "i64")), "i64")


# Warp schedule of a block: by number, or in the order of a seed that `check --schedules` gives.

_STEP = 0x9E3779B1
_SHIFT = 11


def turn(code: LaneBuilder, number: Value, warps: Value, moment: Value) -> Value:
    """The warp that has the turn of this number. Orders begin anywhere and go up or down, by `moment` and the seed."""
    seed = warp_order()
    if seed is None:
        return number
    mixed = code.value("arith.muli", (moment, code.constant(_signed(_STEP), "i32")), "i32")
    mixed = code.value("arith.addi", (mixed, code.constant(_signed(seed * _STEP), "i32")), "i32")
    high = code.value("arith.shrui", (mixed, code.constant(_SHIFT, "i32")), "i32")
    begin = code.value("arith.remui", (high, warps), "i32")
    up = code.value("arith.remui", (code.value("arith.addi", (begin, number), "i32"), warps), "i32")
    last = code.value("arith.subi", (warps, code.constant(1, "i32")), "i32")
    down = code.value("arith.subi", (last, up), "i32")
    odd = code.value("arith.andi", (mixed, code.constant(1 << (_SHIFT - 1), "i32")), "i32")
    return code.select(code.compare("eq", odd, code.constant(0, "i32")), up, down, "i32")


def _signed(number: int) -> int:
    """The same bits as a number of 32 bits with a sign."""
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)
