"""Bulk copies (`cp.async.bulk`, TMA) that a single thread issues: boxes of tensors, rows of bytes, remote words.

They happen as late as they may: what an mbarrier is told when nobody can go on otherwise, what closes a group when the
thread waits for it, and then only so far as it waits.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from triptych.ptxsim.accesses import bytes_at, peer_at, shared_address, store
from triptych.ptxsim.arithmetic import UnknownInstructionError
from triptych.ptxsim.conversions import Mask, Numbers
from triptych.ptxsim.mbarriers import arrive_after_copies, mbarrier_at
from triptych.ptxsim.memory import AccessError
from triptych.ptxsim.operands import BlockState
from triptych.ptxsim.reading import TYPE_BYTES, Instruction, split
from triptych.ptxsim.reductions import reduction
from triptych.ptxsim.tensor_maps import BYTES, MapError, TensorMap, unpacked

Run = Callable[[Any], None]
_BARRIER = "mbarrier::complete_tx::bytes"
_HINT = "L2::cache_hint"
_PEER = 24
"""Bits of an address in the shared memory of one block."""


@dataclass(slots=True)
class Load:
    """Bytes on their way to shared memory of one or more blocks, each of which has an mbarrier told."""

    block: BlockState
    what: str
    data: Callable[[], Any]
    """Read when they arrive."""
    targets: list[tuple[Any, int]]
    """The addresses of the bytes, and the mbarrier."""
    may_be_last: ClassVar[bool] = False

    def run(self) -> None:
        data = self.data()
        for addresses, barrier in self.targets:
            peer_at(self.block, int(addresses.min())).rooms["shared"].write(addresses, data, self.what)
            mbarrier_at(self.block, barrier).change(bytes=-len(data))


@dataclass(slots=True)
class Store:
    """Bytes on their way from shared memory, in a group of a thread."""

    what: str
    thread: int
    group: int
    read: Callable[[], Any]
    write: Callable[[Any], None]
    data: Any = None
    is_written: bool = False

    def finish(self, *, only_reads: bool) -> None:
        if self.data is None:
            self.data = self.read()
        if not only_reads and not self.is_written:
            self.is_written = True
            self.write(self.data)


class Stores:
    """Those of a block that may be under way."""

    def __init__(self, threads: int) -> None:
        self.groups = np.zeros(threads, np.int64)
        """How many each thread has closed."""
        self._open: list[Store] = []

    def add(self, what: str, thread: int, read: Callable[[], Any], write: Callable[[Any], None]) -> Store:
        self._open.append(Store(what, thread, int(self.groups[thread]), read, write))
        return self._open[-1]

    def wait(self, mask: Mask, left: int, *, only_reads: bool) -> None:
        for each in self._open:
            if mask[each.thread] and each.group < self.groups[each.thread] - left:
                each.finish(only_reads=only_reads)
        self._open = [each for each in self._open if not each.is_written]

    def finish(self) -> None:
        """The block ends: a GPU still does what was asked for, as long as nothing overwrites it."""
        for each in self._open:
            each.finish(only_reads=False)
        self._open = []


def bulk(block: BlockState, instruction: Instruction) -> Run | None:
    """What an instruction does, if it is one of these."""
    words = instruction.modifiers
    if instruction.name == "st" and words[0] == "async":
        return _store_async(block, instruction)
    if instruction.name == "tensormap" and words[0] == "replace":
        return _replace(block, instruction)
    if instruction.name == "cp" and words[:3] == ("async", "mbarrier", "arrive"):
        return arrive_after_copies(block, instruction)
    if instruction.name != "cp" or words[:2] not in (("async", "bulk"), ("reduce", "async")):
        return None
    known = next((made for form, made in _FORMS.items() if re.fullmatch(form, ".".join(words))), None)
    if known is None:
        raise UnknownInstructionError(str(instruction))
    return known(block, instruction)


# boxes ------------------------------------------------------------------------------------------------------------
def _map_and_place(block: BlockState, operand: str) -> Callable[[int], tuple[TensorMap, list[int]]]:
    """How to get `[map, {coordinates}]` of a thread."""
    name, coordinates = split(operand[1:-1])
    address = block.registers.reader(name, "u64")
    readers = [block.registers.reader(part, "s32") for part in split(coordinates.strip("{}"))]

    def get(thread: int) -> tuple[TensorMap, list[int]]:
        found = tensor_map(block, int(address()[thread]))
        if found.rank != len(readers):
            raise MapError(f"{len(readers)} coordinates in a tensor of rank {found.rank}")
        return found, [int(read()[thread]) for read in readers]

    return get


def tensor_map(block: BlockState, address: int) -> TensorMap:
    """The map at a generic address: one in memory that was read before is remembered until a fence."""
    if address % 64:
        raise AccessError(f"a tensor map at {address:#x}, which is no multiple of 64")
    maps: dict[int, TensorMap] = block.cluster.maps
    if address not in maps:
        maps[address] = unpacked(bytes_at(block, address, BYTES).tobytes()).checked()
    return maps[address]


def _destinations(
    block: BlockState, address: int, barrier: int, mask: int | None, *, of_pairs: bool = False
) -> list[tuple[int, int]]:
    """The same two places of each block of a mask, or those alone. With `cta_group::2` the mbarrier may be the peer's:
    those of a mask are all of even rank or all of odd rank, as the one that is named."""
    if mask is None:
        if address >> _PEER != barrier >> _PEER and not (of_pairs and address >> _PEER == barrier >> _PEER ^ 1):
            raise AccessError(f"the mbarrier at {barrier:#x} is not in the block that the bytes go to")
        return [(address, barrier)]
    if mask >> len(block.cluster.blocks) or not mask:
        raise AccessError(f"a copy to blocks {mask:#x} of a cluster of {len(block.cluster.blocks)}")
    low = (1 << _PEER) - 1
    ranks = [rank for rank in range(16) if mask >> rank & 1]
    named = barrier >> _PEER & 1
    owners = [rank & ~1 | named if of_pairs else rank for rank in ranks]
    return [(to << _PEER | address & low, at << _PEER | barrier & low) for to, at in zip(ranks, owners, strict=True)]


def _each(mask: Mask, act: Callable[[int], None]) -> None:
    for thread in np.flatnonzero(mask):
        act(int(thread))


def _load_box(block: BlockState, instruction: Instruction) -> Run:
    to, source, barrier, *rest = instruction.operands
    where = str(instruction)
    place = _map_and_place(block, source)
    target, told = (shared_address(block, each, "shared::cluster") for each in (to, barrier))
    mask_of = _mask(block, instruction, rest)
    _count(instruction, rest)

    def act(thread: int) -> None:
        found, first = place(thread)
        address = int(target()[thread])
        if address % 128:
            raise AccessError(f"{where}: the destination {address:#x} is no multiple of 128")

        def data() -> Any:
            offsets, inside = found.places(first)
            size = found.dtype.itemsize
            elements = np.zeros((len(offsets), size), np.uint8)
            if found.fill:
                elements[:] = np.array([np.nan], found.dtype).view(np.uint8)
            elements[inside] = gather(block, found.base, offsets[inside], size)
            return elements.reshape(-1)

        targets = [
            ((found.shared_places(to)[:, None] + np.arange(found.dtype.itemsize)).reshape(-1), told_at)
            for to, told_at in _destinations(
                block, address, int(told()[thread]), mask_of(thread), of_pairs="cta_group::2" in instruction.modifiers
            )
        ]
        block.cluster.issue(Load(block, f"{where} of block {block.index}", data, targets))

    return lambda mask: _each(mask, act)


def _store_box(block: BlockState, instruction: Instruction) -> Run:
    to, source, *rest = instruction.operands
    where = str(instruction)
    place = _map_and_place(block, to)
    origin = shared_address(block, source, "shared")
    _count(instruction, rest)
    kind = next((word for word in instruction.modifiers if word in _REDUCTIONS), "")

    def act(thread: int) -> None:
        found, first = place(thread)
        address = int(origin()[thread])
        if address % 128:
            raise AccessError(f"{where}: the source {address:#x} is no multiple of 128")
        offsets, inside = found.places(first)
        size = found.dtype.itemsize
        places = (found.shared_places(address)[inside][:, None] + np.arange(size)).reshape(-1)
        room = block.rooms["shared"]
        room.check(places, where)

        def write(data: Numbers) -> None:
            new = data.reshape(-1, size)
            if kind:
                old = gather(block, found.base, offsets[inside], size)
                new = reduction(kind, found.dtype, old, new)
            scatter(block, found.base, offsets[inside], new)

        block.cluster.issue_store(block.stores.add(where, thread, lambda: room.read(places, where), write))

    return lambda mask: _each(mask, act)


def _prefetch_box(block: BlockState, instruction: Instruction) -> Run:
    place = _map_and_place(block, instruction.operands[0])
    _count(instruction, list(instruction.operands[1:]))

    def act(thread: int) -> None:
        place(thread)

    return lambda mask: _each(mask, act)


def gather(block: BlockState, base: int, offsets: Numbers, size: int) -> Any:
    """Elements of a tensor in memory, as bytes."""
    result = np.zeros((len(offsets), size), np.uint8)
    if len(offsets):
        addresses = (offsets.astype(object) + base).astype(np.uint64)
        for room, here in block.gpu.memory.parts(addresses):
            _, places = room.places(addresses[here], 0, size)
            result[here] = room.words(size)[0][places].reshape(-1, 1).view(np.uint8)
    return result


def scatter(block: BlockState, base: int, offsets: Numbers, values: Numbers) -> None:
    if len(offsets):
        size = values.shape[1]
        addresses = (offsets.astype(object) + base).astype(np.uint64)
        for room, here in block.gpu.memory.parts(addresses):
            _, places = room.places(addresses[here], 0, size)
            words = room.words(size)
            words[0, places] = np.ascontiguousarray(values[here]).view(words.dtype).reshape(-1)


# rows of bytes ----------------------------------------------------------------------------------------------------
def _size(where: str, size: int, *addresses: int) -> int:
    if any(number % 16 for number in (size, *addresses)) or not size:
        places = ", ".join(map(hex, addresses))
        raise AccessError(f"{where}: {size} bytes at {places}: all must be multiples of 16")
    return size


def _load_row(block: BlockState, instruction: Instruction) -> Run:
    """From memory, or from the block's own shared memory to that of another."""
    to, source, size, barrier, *rest = instruction.operands
    where = str(instruction)
    is_global = "global" in instruction.modifiers
    origin = block.registers.address(source) if is_global else shared_address(block, source, "shared")
    target, told = (shared_address(block, each, "shared::cluster") for each in (to, barrier))
    count = block.registers.reader(size, "u32")
    mask_of = _mask(block, instruction, rest)
    _count(instruction, rest)
    kind, dtype = _reduction_of(instruction)

    def act(thread: int) -> None:
        address, start = int(target()[thread]), int(origin()[thread])
        size = _size(where, int(count()[thread]), address, start)
        own = start + np.arange(size)
        room = block.rooms["shared"]
        if not is_global:
            room.check(own, where)

        def data() -> Any:
            given = gather(block, start, np.arange(size), 1).reshape(-1) if is_global else room.read(own, where)
            if not kind:
                return given
            there = peer_at(block, address).rooms["shared"].read(address + np.arange(size), where)
            return reduction(kind, dtype, there, given)

        targets = [
            (to + np.arange(size), told_at)
            for to, told_at in _destinations(block, address, int(told()[thread]), mask_of(thread))
        ]
        block.cluster.issue(Load(block, f"{where} of block {block.index}", data, targets))

    return lambda mask: _each(mask, act)


def _store_row(block: BlockState, instruction: Instruction) -> Run:
    to, source, size, *rest = instruction.operands
    where = str(instruction)
    target, origin = block.registers.address(to), shared_address(block, source, "shared")
    count = block.registers.reader(size, "u32")
    _count(instruction, rest)
    kind, dtype = _reduction_of(instruction)

    def act(thread: int) -> None:
        address, start = int(target()[thread]), int(origin()[thread])
        size = _size(where, int(count()[thread]), address, start)
        places, room = start + np.arange(size), block.rooms["shared"]
        room.check(places, where)

        def write(data: Numbers) -> None:
            if kind:
                data = reduction(kind, dtype, gather(block, address, np.arange(size), 1), data)
            scatter(block, address, np.arange(size), data.reshape(-1, 1))

        block.cluster.issue_store(block.stores.add(where, thread, lambda: room.read(places, where), write))

    return lambda mask: _each(mask, act)


def _prefetch_row(block: BlockState, instruction: Instruction) -> Run:
    source, size, *rest = instruction.operands
    address, count = block.registers.address(source), block.registers.reader(size, "u32")
    _count(instruction, rest)

    def act(thread: int) -> None:
        start = int(address()[thread])
        gather(block, start, np.arange(_size(str(instruction), int(count()[thread]), start)), 1)

    return lambda mask: _each(mask, act)


def _store_async(block: BlockState, instruction: Instruction) -> Run:
    """A word, or two or four, for another block, whose mbarrier is told."""
    words = [word for word in instruction.modifiers if word not in ("async", "weak", "v2", "v4")]
    kind = words[-1]
    if words[:-1] != ["shared::cluster", _BARRIER] or kind not in TYPE_BYTES or TYPE_BYTES[kind] not in (4, 8):
        raise UnknownInstructionError(str(instruction))
    to, value, barrier = instruction.operands
    size = TYPE_BYTES[kind]
    target, told = (shared_address(block, each, "shared::cluster") for each in (to, barrier))
    readers = [block.registers.reader(part, f"b{8 * size}") for part in split(value.strip("{}"))]
    where = str(instruction)

    def act(thread: int) -> None:
        address, told_at = int(target()[thread]), int(told()[thread])
        if address >> _PEER != told_at >> _PEER:
            raise AccessError(f"{where}: the mbarrier is not in the block that the value goes to")
        if address % (size * len(readers)):
            raise AccessError(f"{where}: {address:#x} is not aligned")
        data = np.concatenate([read()[thread : thread + 1] for read in readers]).view(np.uint8)
        places = address + np.arange(len(data))
        block.cluster.issue(Load(block, f"{where} of block {block.index}", lambda: data, [(places, told_at)]))

    return lambda mask: _each(mask, act)


# groups -----------------------------------------------------------------------------------------------------------
def _commit(block: BlockState, instruction: Instruction) -> Run:
    def run(mask: Mask) -> None:
        block.stores.groups += mask

    return run


def _wait(block: BlockState, instruction: Instruction) -> Run:
    left, only_reads = int(instruction.operands[0]), "read" in instruction.modifiers
    return lambda mask: block.stores.wait(mask, left, only_reads=only_reads)


# maps that kernels change -----------------------------------------------------------------------------------------
def _replace(block: BlockState, instruction: Instruction) -> Run:
    """`tensormap.replace.tile.field.space.b1024.type [map], (place,) value`."""
    _, tile, field, *words = instruction.modifiers
    if tile != "tile" or words[-2] != "b1024":
        raise UnknownInstructionError(str(instruction))
    space = "shared" if words[0].startswith("shared") else words[0] if words[0] == "global" else ""
    to, *numbers = instruction.operands
    address = block.registers.address(to)
    value = block.registers.reader(numbers[-1], f"u{8 * TYPE_BYTES[words[-1]]}")
    place = int(numbers[0]) if len(numbers) > 1 else 0

    def act(thread: int) -> None:
        at = int(address()[thread])
        found = unpacked(bytes_at(block, at, BYTES, space).tobytes())
        if field == "rank":
            raise UnknownInstructionError(str(instruction))
        words = np.frombuffer(found.changed(field, place, int(value()[thread])).pack(), np.uint64)
        only = block.numbers == thread
        for i, word in enumerate(words):
            where = np.full(block.threads, at + 8 * i, np.uint64)
            store(block, space, where, only, [np.full(block.threads, word, np.uint64)], 8)

    return lambda mask: _each(mask, act)


def copy_map(block: BlockState, instruction: Instruction) -> Run:
    """`tensormap.cp_fenceproxy`: a warp copies a map from shared memory to where all can use it."""
    words = ("global", "shared::cta", "tensormap::generic", "release", "gpu", "sync", "aligned")
    if instruction.modifiers[1:] != words or instruction.operands[2] != "128":
        raise UnknownInstructionError(str(instruction))
    to, source = (block.registers.address(each) for each in instruction.operands[:2])

    def act(thread: int) -> None:
        data = bytes_at(block, int(source()[thread]), BYTES, "shared")
        scatter(block, int(to()[thread]), 8 * np.arange(BYTES // 8), data.reshape(-1, 8))

    return lambda mask: _each(mask & (block.numbers % 32 == 0), act)


# qualifiers -------------------------------------------------------------------------------------------------------
_REDUCTIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")


def _reduction_of(instruction: Instruction) -> tuple[str, Any]:
    kind = next((word for word in instruction.modifiers if word in _REDUCTIONS), "")
    return kind, instruction.modifiers[-1] if kind else None


def _mask(block: BlockState, instruction: Instruction, rest: list[str]) -> Callable[[int], int | None]:
    """The blocks of a multicast, taken from the operands that are left."""
    if "multicast::cluster" not in instruction.modifiers:
        return lambda thread: None
    read = block.registers.reader(rest.pop(0), "u16")
    return lambda thread: int(read()[thread])


def _count(instruction: Instruction, rest: list[str]) -> None:
    """What is left of the operands must be what the qualifiers say."""
    if len(rest) != (_HINT in instruction.modifiers):
        raise UnknownInstructionError(str(instruction))


_LATE = rf"\.{_BARRIER}(\.multicast::cluster)?(\.{_HINT})?"
_GROUPED = rf"\.{_BARRIER}(\.multicast::cluster)?(\.cta_group::[12])?(\.{_HINT})?"
_TYPED = rf"\.({'|'.join(_REDUCTIONS)})(\.noftz)?\.\w+"
_FORMS: dict[str, Callable[[BlockState, Instruction], Run]] = {
    rf"async\.bulk\.tensor\.[1-5]d\.shared::(cluster|cta)\.global(\.tile)?{_GROUPED}": _load_box,
    rf"async\.bulk\.tensor\.[1-5]d\.global\.shared::cta(\.tile)?\.bulk_group(\.{_HINT})?": _store_box,
    rf"reduce\.async\.bulk\.tensor\.[1-5]d\.global\.shared::cta\.({'|'.join(_REDUCTIONS)})(\.tile)?\.bulk_group"
    rf"(\.{_HINT})?": _store_box,
    rf"async\.bulk\.prefetch\.tensor\.[1-5]d\.L2\.global(\.tile)?(\.{_HINT})?": _prefetch_box,
    rf"async\.bulk\.shared::(cluster|cta)\.global{_LATE}": _load_row,
    rf"async\.bulk\.shared::cluster\.shared::cta\.{_BARRIER}": _load_row,
    rf"reduce\.async\.bulk\.shared::cluster\.shared::cta\.{_BARRIER}{_TYPED}": _load_row,
    rf"async\.bulk\.global\.shared::cta\.bulk_group(\.{_HINT})?": _store_row,
    rf"reduce\.async\.bulk\.global\.shared::cta\.bulk_group(\.{_HINT})?{_TYPED}": _store_row,
    rf"async\.bulk\.prefetch\.L2\.global(\.{_HINT})?": _prefetch_row,
    r"async\.bulk\.commit_group": _commit,
    r"async\.bulk\.wait_group(\.read)?": _wait,
}
"""Words of the instruction, and what makes its meaning."""
