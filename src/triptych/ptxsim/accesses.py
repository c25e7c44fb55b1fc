"""Memory instructions, each thread for itself: loads, stores, atomics, asynchronous copies."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from triptych.ptxsim.arithmetic import ARRAYS, UnknownInstructionError
from triptych.ptxsim.conversions import Mask, Numbers
from triptych.ptxsim.memory import UNSIGNED, AccessError
from triptych.ptxsim.operands import WARP, BlockState, listed
from triptych.ptxsim.reading import TYPE_BYTES, Instruction

Run = Callable[[Any], None]
SPACES = ("global", "shared", "shared::cluster", "local", "param", "const")
_PEER = 24
"""Bits of an address in the shared memory of one block of a cluster."""
WINDOWS = {"shared": 1 << 57, "local": 1 << 56, "param": 1 << 55}
"""Where generic addresses find the other memories."""
_END = 1 << 40
"""How large a window is."""


class DeviceAssertError(Exception):
    """A kernel said that something is wrong."""


def access(block: BlockState, instruction: Instruction) -> Run | None:
    """What an instruction does, if it is one of these."""
    made = _ACCESSES.get(instruction.name)
    return None if made is None else made(block, instruction)


def space_of(instruction: Instruction) -> str:
    """The memory that it names; "" for generic addresses."""
    found = (word.removesuffix("::cta").removesuffix("::entry") for word in instruction.modifiers)
    return next((word for word in found if word in SPACES), "")


def load(block: BlockState, space: str, addresses: Numbers, mask: Mask, size: int, count: int = 1) -> list[Any]:
    """What the threads of a mask find; the others have zeros."""
    results = [np.zeros(block.threads, UNSIGNED[size]) for _ in range(count)]
    for room, chosen, places in _rooms(block, space, addresses, mask):
        for result, values in zip(results, room.load(places, block.numbers[chosen], size, count), strict=True):
            result[chosen] = values
    return results


def store(block: BlockState, space: str, addresses: Numbers, mask: Mask, values: list[Any], size: int) -> None:
    for room, chosen, places in _rooms(block, space, addresses, mask):
        room.store(places, block.numbers[chosen], [value[chosen] for value in values], size)


def _rooms(block: BlockState, space: str, addresses: Numbers, mask: Mask) -> list[tuple[Any, Any, Any]]:
    """The rooms that addresses are in, with which threads have them, and their addresses there."""
    if space in block.rooms:
        return [(block.rooms[space], mask, addresses[mask])]
    if space == "shared::cluster":
        return _of_cluster(block, addresses, mask)
    found = []
    if not space:
        for name, start in WINDOWS.items():
            inside = mask & (addresses >= np.uint64(start)) & (addresses < np.uint64(start + _END))
            if inside.any():
                there = addresses - np.uint64(start)
                if name == "shared":
                    found += _of_cluster(block, there, inside)
                else:
                    found.append((block.rooms[name], inside, there[inside]))
                mask = mask & ~inside
    threads = np.flatnonzero(mask)
    for room, here in block.gpu.memory.parts(addresses[threads]):
        chosen = np.zeros(block.threads, bool)
        chosen[threads[here]] = True
        found.append((room, chosen, addresses[chosen]))
    return found


def _of_cluster(block: BlockState, addresses: Numbers, mask: Mask) -> list[tuple[Any, Any, Any]]:
    """The same of addresses in the shared memories of all blocks of the cluster."""
    ranks = addresses >> np.uint64(_PEER)
    chosen = [(rank, mask & (ranks == rank)) for rank in np.unique(ranks[mask])]
    return [(peer_at(block, int(rank) << _PEER).rooms["shared"], here, addresses[here]) for rank, here in chosen]


def peer_at(block: BlockState, address: int) -> BlockState:
    """The block of the cluster whose shared memory an address is in. It must be running."""
    rank = address >> _PEER
    if rank >= len(block.cluster.blocks):
        raise AccessError(f"{address:#x} is in no shared memory of the cluster")
    peer: BlockState = block.cluster.blocks[rank]
    if not peer.alive.any():
        raise AccessError(f"{address:#x} is in the shared memory of a block that has ended")
    return peer


def shared_address(block: BlockState, operand: str, space: str) -> Callable[[], Any]:
    """How to get an address that must be in shared memory, as one there."""
    read = block.registers.address(operand)
    if space:
        return read
    window = np.uint64(WINDOWS["shared"])

    def get() -> Any:
        address = read()
        return np.where(address >= window, address - window, address)

    return get


def bytes_at(block: BlockState, address: int, size: int, space: str = "") -> Any:
    """Some words of 8 bytes at one address."""
    only = block.numbers == 0
    places = (np.full(block.threads, address + at, np.uint64) for at in range(0, size, 8))
    return np.array([load(block, space, place, only, 8)[0][0] for place in places], np.uint64).view(np.uint8)


def _load(block: BlockState, instruction: Instruction) -> Run:
    to, source = instruction.operands
    kind, space = instruction.type, space_of(instruction)
    if space == "param" and "retval" in source:
        return lambda mask: None
    address = block.registers.address(source)
    size, targets = TYPE_BYTES[kind], listed(to)
    writers = [block.registers.writer(target, kind) for target in targets]
    where = str(instruction)

    def run(mask: Mask) -> None:
        try:
            values = load(block, space, address(), mask, size, len(targets))
        except AccessError as error:
            raise AccessError(f"{where} {error}") from None
        for write, value in zip(writers, values, strict=True):
            write(value.view(ARRAYS[kind]), mask)

    return run


def _store(block: BlockState, instruction: Instruction) -> Run:
    to, source = instruction.operands
    kind, space = instruction.type, space_of(instruction)
    if space == "param":
        return _call_parameter(block, to, source, kind)
    address = block.registers.address(to)
    size = TYPE_BYTES[kind]
    readers = [block.registers.reader(part, f"b{8 * size}") for part in listed(source)]
    where = str(instruction)

    def run(mask: Mask) -> None:
        values = [read() for read in readers]
        try:
            store(block, space, address(), mask, values, size)
        except AccessError as error:
            raise AccessError(f"{where} {error}") from None

    return run


# calls --------------------------------------------------------------------------------------------------------------
def _call_parameter(block: BlockState, to: str, source: str, kind: str) -> Run:
    name = to.strip("[] ")
    read = block.registers.reader(source, kind)

    def run(mask: Mask) -> None:
        block.call_parameters[name] = read().copy()

    return run


def _call(block: BlockState, instruction: Instruction) -> Run:
    """Of the two functions that a GPU brings along."""
    call = next((_FUNCTIONS[name] for name in instruction.operands if name in _FUNCTIONS), None)
    if call is None:
        raise UnknownInstructionError(str(instruction))

    def run(mask: Mask) -> None:
        for thread in np.flatnonzero(mask):
            call(block, int(thread))

    return run


def _print(block: BlockState, thread: int) -> None:
    """`vprintf`: a format, and the place of its arguments."""
    text, place = (block.call_parameters[name] for name in ("param0", "param1"))
    block.gpu.printed.append(_formatted(block, _text(block, text, thread), place, block.numbers == thread, thread))


def _assertion(block: BlockState, thread: int) -> None:
    message = _text(block, block.call_parameters["param0"], thread)
    raise DeviceAssertError(f"{message} in thread {thread}")


_FUNCTIONS = {"vprintf": _print, "__assertfail": _assertion}


def _text(block: BlockState, place: Numbers, thread: int) -> str:
    letters: list[int] = []
    while not letters or letters[-1]:
        found = load(block, "", place + np.uint64(len(letters)), block.numbers == thread, 1)
        letters.append(int(found[0][thread]))
    return bytes(letters[:-1]).decode()


def _formatted(block: BlockState, text: str, place: Numbers, only: Mask, thread: int) -> str:
    parts, at = text.split("%"), 0
    result = parts[0]
    escaped = False
    for part in parts[1:]:
        if not part and not escaped:
            escaped = True
            result += "%"
            continue
        if escaped:
            escaped = False
            result += part
            continue
        mark = next(index for index, letter in enumerate(part) if letter in "dufegxcsp")
        size = 4 if part[mark] in "duxc" and "l" not in part[:mark] else 8
        at = -(-at // size) * size
        bits = load(block, "", place + np.uint64(at), only, size)[0]
        at += size
        letter = part[mark]
        kind = {"d": f"i{size}", "f": "f8", "e": "f8", "g": "f8"}.get(letter, f"u{size}")
        result += ("%" + part[:mark].replace("l", "") + letter) % bits.view(kind)[thread] + part[mark + 1 :]
    return result


# addresses ----------------------------------------------------------------------------------------------------------
def _generic(block: BlockState, instruction: Instruction) -> Run:
    """`cvta`: between an address in one memory and the generic one."""
    window = np.uint64(WINDOWS.get(space_of(instruction).partition("::")[0], 0))
    step = np.uint64(0) - window if instruction.modifiers[0] == "to" else window
    to, source = instruction.operands
    read, write = block.registers.reader(source, "u64"), block.registers.writer(to, "u64")
    return lambda mask: write(read() + step, mask)


# atomics ------------------------------------------------------------------------------------------------------------
_ATOMIC: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "min": min,
    "max": max,
    "exch": lambda old, new: new,
    "cas": lambda old, expected, new: new if old == expected else old,
    "inc": lambda old, most: old + old.dtype.type(1) if old < most else old.dtype.type(0),
    "dec": lambda old, most: most if old == 0 or old > most else old - old.dtype.type(1),
}


def _atomic(block: BlockState, instruction: Instruction) -> Run:
    operands = list(instruction.operands)
    to = operands.pop(0) if instruction.name == "atom" else "_"
    place, *sources = operands
    kind, space = instruction.type, space_of(instruction)
    name = next((word for word in instruction.modifiers if word in _ATOMIC), "")
    if not name or kind not in ARRAYS or kind in ("bf16", "f16x2", "bf16x2"):
        raise UnknownInstructionError(str(instruction))
    address, size, dtype = block.registers.address(place), TYPE_BYTES[kind], ARRAYS[kind]
    readers = [block.registers.reader(source, kind) for source in sources]
    write = block.registers.writer(to, kind)

    def run(mask: Mask) -> None:
        values = [read() for read in readers]
        before = np.zeros(block.threads, dtype)
        for room, chosen, addresses in _rooms(block, space, address(), mask):
            assert not room.is_private, "atomics act on shared or global memory"
            _, places = room.places(addresses, block.numbers[chosen], size)
            words = room.words(size).view(dtype)[0]
            for thread, at in zip(block.numbers[chosen], places, strict=True):
                before[thread] = words[at]
                words[at] = _ATOMIC[name](before[thread], *(value[thread] for value in values))
            room.note(addresses, block.numbers[chosen], size)
        write(before, mask)

    return run


# asynchronous copies ------------------------------------------------------------------------------------------------
@dataclass(slots=True)
class Copy:
    """What `cp.async` of some threads asked for: `given` bytes, and zeros up to `size`. It happens when they wait."""

    mask: Any
    groups: Any
    """The number of each thread's group."""
    places: Any
    origins: Any
    given: Any
    size: int

    def run(self, block: BlockState, due: Mask) -> None:
        for addresses in (self.places[due], self.origins[due]):
            if (addresses % np.uint64(self.size)).any():
                raise AccessError(f"an asynchronous copy of {self.size} bytes is not aligned")
        whole = due & (self.given == self.size)
        words = load(block, "global", self.origins, whole, 4, self.size // 4)
        store(block, "shared", self.places, whole, words, 4)
        for at in range(self.size):
            step, partial = np.uint64(at), due & ~whole
            byte = load(block, "global", self.origins + step, partial & (self.given > at), 1)
            store(block, "shared", self.places + step, partial, byte, 1)
        self.mask = self.mask & ~due


def _asynchronous(block: BlockState, instruction: Instruction) -> Run:
    """Copies happen as late as they may: when somebody waits for them."""
    words = instruction.modifiers
    if words[:2] == ("async", "commit_group"):
        return lambda mask: _commit(block, mask)
    if words[:2] in (("async", "wait_group"), ("async", "wait_all")):
        left = int(instruction.operands[0]) if instruction.operands else -1
        return lambda mask: land(block, mask, left)
    if words[0] != "async" or words[1] not in ("ca", "cg"):
        raise UnknownInstructionError(str(instruction))
    registers = block.registers
    to, source, size, *given = instruction.operands
    target, origin = registers.address(to), registers.address(source)
    count = registers.reader(given[0] if given else size, "u32")

    def run(mask: Mask) -> None:
        places, origins, counts = (each().copy() for each in (target, origin, count))
        if mask.any():
            block.copies.append(Copy(mask.copy(), block.copy_groups.copy(), places, origins, counts, int(size)))

    return run


def _commit(block: BlockState, mask: Mask) -> None:
    block.copy_groups += mask


def land(block: BlockState, mask: Mask, left: int = -1) -> None:
    """Until at most `left` groups of a thread are under way; -1: nothing is, in a group or not."""
    for copy in block.copies:
        due = copy.mask & mask & (copy.groups < block.copy_groups - left)
        if due.any():
            copy.run(block, due)
    block.copies = [copy for copy in block.copies if copy.mask.any()]


# nothing to do ------------------------------------------------------------------------------------------------------
def _nothing(block: BlockState, instruction: Instruction) -> Run:
    return lambda mask: None


_FENCES = (
    r"(sc|acq_rel|acquire|release)(\.cta|\.cluster|\.gpu|\.sys)",
    r"(cta|cluster|gpu|sys)",
    r"mbarrier_init\.release\.cluster",
    r"proxy\.(alias|async\.global)",
    r"proxy\.tensormap::generic\.release\.(cta|cluster|gpu|sys)",
)


def _fence(block: BlockState, instruction: Instruction) -> Run:
    """Those that order memory make no difference: threads see each other's stores in one order."""
    words = ".".join(instruction.modifiers)
    if words in ("proxy.async", "proxy.async.shared::cta", "proxy.async.shared::cluster"):
        return lambda mask: block.rooms["shared"].fence(mask)
    if re.fullmatch(r"proxy\.tensormap::generic\.acquire\.(cta|cluster|gpu|sys)", words):
        return _forget_map(block, instruction)
    if not any(re.fullmatch(form, words) for form in _FENCES):
        raise UnknownInstructionError(str(instruction))
    return lambda mask: None


def _forget_map(block: BlockState, instruction: Instruction) -> Run:
    place, size = instruction.operands
    if size != "128":
        raise UnknownInstructionError(str(instruction))
    address = block.registers.address(place)

    def run(mask: Mask) -> None:
        for each in address()[mask]:
            block.cluster.maps.pop(int(each), None)

    return run


def _active(block: BlockState, instruction: Instruction) -> Run:
    write = block.registers.writer(instruction.operands[0], "b32")

    def run(mask: Mask) -> None:
        result = np.zeros(block.threads, np.uint32)
        for thread in np.flatnonzero(mask).tolist():
            start = thread // WARP * WARP
            result[start : start + WARP] |= np.uint32(1 << (thread - start))
        write(result, mask)

    return run


_ACCESSES: dict[str, Callable[[BlockState, Instruction], Run]] = {
    "ld": _load,
    "ldu": _load,
    "st": _store,
    "atom": _atomic,
    "red": _atomic,
    "cvta": _generic,
    "cp": _asynchronous,
    "call": _call,
    "activemask": _active,
    "fence": _fence,
    **dict.fromkeys(("membar", "prefetch", "prefetchu", "nanosleep", "griddepcontrol", "discard"), _nothing),
}
