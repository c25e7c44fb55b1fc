"""Cost counters of a simulated GPU, for each instruction of each block that runs.

Input: an instruction, the threads that come to it and those that do it, before they do. Output: `Counts`. Widths and
addresses are those of PTX. A machine without a `Counting` pays nothing.

Shared memory has 32 banks of 4 bytes. In a wavefront each bank gives one word; threads that ask for the same word share
it. A warp that asks for more than 128 bytes goes in parts: two of 16 threads for 8 bytes of each, four of 8 for 16.
Global memory moves sectors of 32 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from time import process_time
from typing import Any

import numpy as np

from triptych.ptxsim.accesses import WINDOWS, space_of
from triptych.ptxsim.conversions import Mask, Numbers
from triptych.ptxsim.operands import WARP, BlockState, Dims, listed
from triptych.ptxsim.reading import TYPE_BYTES, Instruction, Kernel

BANKS = 32
WORD = 4
SECTOR = 32


@dataclass(frozen=True, slots=True)
class Request:
    """What threads ask of a memory with one instruction: `width` bytes each."""

    space: str
    threads: Any
    addresses: Any
    width: int
    cost: int = 0
    """Wavefronts or sectors, where it is of one warp."""

    @property
    def warps(self) -> int:
        return len(np.unique(self.threads // WARP))

    def of_warp(self, warp: int, cost: int) -> Request:
        """The part of one warp."""
        mine = self.threads // WARP == warp
        return Request(self.space, self.threads[mine], self.addresses[mine].copy(), self.width, cost)


def words_of(request: Request) -> tuple[Any, Any]:
    """The different words of each part of a warp: the numbers of the parts, and the words."""
    together = min(WARP, max(1, BANKS * WORD // request.width))
    count = max(1, request.width // WORD)
    words = (request.addresses.astype(np.int64) // WORD)[:, None] + np.arange(count)
    parts = np.repeat(request.threads // together, count)
    keys = np.unique(parts << np.int64(40) | words.reshape(-1))
    return keys >> np.int64(40), keys & ((1 << 40) - 1)


def wavefronts_of(request: Request) -> tuple[Any, int]:
    """How many each warp takes, by its number, and how many all would take without a bank conflict."""
    together = min(WARP, max(1, BANKS * WORD // request.width))
    parts, words = words_of(request)
    by_bank = np.bincount(parts * BANKS + words % BANKS, minlength=(int(parts.max()) + 1) * BANKS)
    of_parts = by_bank.reshape(-1, BANKS).max(axis=1)
    of_warps = np.bincount(np.arange(len(of_parts)) * together // WARP, of_parts).astype(np.int64)
    return of_warps, int((of_parts > 0).sum())


def sectors_of(request: Request) -> tuple[Any, int, int]:
    """How many each warp moves, the fewest that all could move, and the different bytes that they ask for."""
    warps = request.threads // WARP
    first = request.addresses // np.uint64(SECTOR)
    count = max(1, request.width // SECTOR)
    sectors = (first[:, None] + np.arange(count, dtype=np.uint64)).reshape(-1)
    moved = _different(np.repeat(warps, count), sectors)
    used = _different(warps, request.addresses) * request.width
    return moved, int((-(-used // SECTOR)).sum()), int(used.sum())


def turns_of(request: Request) -> int:
    """Atomics that wait for each other: of each warp those on its commonest address."""
    warps = request.threads // WARP
    turns = (np.unique(request.addresses[warps == warp], return_counts=True)[1].max() for warp in np.unique(warps))
    return int(sum(turns))


def _different(warps: Numbers, numbers: Numbers) -> Any:
    """How many different numbers each warp has."""
    pairs = np.unique(np.stack([warps.astype(np.uint64), numbers]), axis=1)
    return np.bincount(pairs[0].astype(np.int64))


Observe = Callable[[Any], None]
_WINDOW = 1 << 40
_PEER_BITS = (1 << 24) - 1
"""Of an address in the shared memory of a cluster, those that are an address in one block."""


@dataclass(slots=True)
class Counts:
    """Of one instruction, or of several together."""

    issued: int = 0
    """By warps."""
    lanes: int = 0
    """Threads that did it."""
    slots: int = 0
    """Threads of the warps that did it."""
    branches: int = 0
    """Of warps that a condition decides."""
    splits: int = 0
    """Those of them that parted the warp."""
    shared_requests: int = 0
    wavefronts: int = 0
    fewest_wavefronts: int = 0
    """Without a bank conflict."""
    global_requests: int = 0
    sectors: int = 0
    fewest_sectors: int = 0
    """That could hold the bytes that were asked for."""
    bytes_used: int = 0
    """Different ones of global memory that a request asks for."""
    local_requests: int = 0
    atomics: int = 0
    """Of threads."""
    atomic_requests: int = 0
    atomic_turns: int = 0
    """One after another, because they are on one address: of each request those on its commonest one."""

    def add(self, other: Counts) -> None:
        for each in fields(Counts):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

    @property
    def conflicts(self) -> int:
        """Wavefronts that would not be without bank conflicts."""
        return self.wavefronts - self.fewest_wavefronts


@dataclass(slots=True)
class BlockCounts:
    """What one block did, by the places of the instructions in their kernel."""

    index: Dims
    counts: dict[int, Counts] = field(default_factory=dict)
    worst: dict[int, Request] = field(default_factory=dict)
    """The requests that took most wavefronts, or sectors, where pictures are wanted."""


@dataclass(slots=True)
class CountedLaunch:
    """A launch of which some blocks ran."""

    kernel: Kernel
    grid: Dims
    block: Dims
    cluster: Dims
    shared_bytes: int
    """Of each block, those that the code declares too."""
    blocks: list[BlockCounts] = field(default_factory=list)
    alike: int = 1
    """How many launches there were with the same kernel, grid and block; the first is counted."""
    seconds: float = 0.0

    @property
    def is_whole(self) -> bool:
        x, y, z = self.grid
        return len(self.blocks) == x * y * z


class Counting:
    """The launches of a program, and which of their clusters run; those like an earlier one are only counted up."""

    def __init__(self, choose: Callable[[int], Sequence[int]] = range, *, keeps_requests: bool = False) -> None:
        self.choose = choose
        """The numbers of the clusters to run, of so many."""
        self.keeps_requests = keeps_requests
        self.launches: list[CountedLaunch] = []
        self._began = 0.0

    def begin(self, launch: CountedLaunch) -> bool:
        """Whether it is to run."""
        for known in self.launches:
            if known.kernel is launch.kernel and (known.grid, known.block) == (launch.grid, launch.block):
                known.alike += 1
                return known.is_whole
        self.launches.append(launch)
        self._began = process_time()
        return True

    def end(self) -> None:
        if not self.launches[-1].seconds:
            self.launches[-1].seconds = process_time() - self._began

    def observer(self, block: BlockState, kernel: Kernel) -> BlockObserver | None:
        """For a block of the launch that began last, if that is counted."""
        launch = self.launches[-1]
        return BlockObserver(block, kernel, launch, self.keeps_requests) if launch.alike == 1 else None


class BlockObserver:
    """Sees what a block does, instruction by instruction."""

    def __init__(self, block: BlockState, kernel: Kernel, launch: CountedLaunch, keeps_requests: bool) -> None:
        self._block, self._kernel, self._launch = block, kernel, launch
        self._keeps_requests = keeps_requests
        self._warp = block.numbers // WARP
        self._threads_of_warp = np.bincount(self._warp)
        self._memory: dict[int, list[tuple[str, Callable[[], Any], Callable[[], Any], bool]]] = {}
        self._now = BlockCounts((0, 0, 0))

    def start(self, index: Dims) -> None:
        self._now = BlockCounts(index)
        self._launch.blocks.append(self._now)

    def see(self, place: int, coming: Mask, doing: Mask) -> None:
        """Threads that come to an instruction, and those whose guard lets them do it."""
        counts = self._now.counts.setdefault(place, Counts())
        instruction = self._kernel.instructions[place]
        warps = np.bincount(self._warp, coming) > 0
        before, counts.issued = counts.issued, counts.issued + int(warps.sum())
        counts.slots += int(self._threads_of_warp[warps].sum())
        if instruction.name == "bra":
            taken, left = (np.bincount(self._warp, each) > 0 for each in (doing, coming & ~doing))
            counts.branches += counts.issued - before if instruction.guard else 0
            counts.splits += int((taken & left).sum())
            counts.lanes += int(coming.sum())
            return
        counts.lanes += int(doing.sum())
        if place not in self._memory:
            self._memory[place] = _memory_of(self._block, instruction)
        for space, address, width, is_atomic in self._memory[place]:
            self._request(place, counts, space, address(), np.broadcast_to(width(), doing.shape), doing, is_atomic)

    def _request(
        self, place: int, counts: Counts, space: str, addresses: Numbers, widths: Numbers, doing: Mask, is_atomic: bool
    ) -> None:
        for where, mask, there in _by_space(space, addresses, doing):
            asking = mask & (widths > 0)
            if not asking.any():
                continue
            for width in np.unique(widths[asking]):
                chosen = asking & (widths == width)
                request = Request(where, self._block.numbers[chosen], there[chosen], int(width))
                self._count(place, counts, request, is_atomic)

    def _count(self, place: int, counts: Counts, request: Request, is_atomic: bool) -> None:
        if request.space == "local":
            counts.local_requests += request.warps
            return
        if request.space == "shared":
            counts.shared_requests += request.warps
            by_warp, fewest = wavefronts_of(request)
            counts.wavefronts += int(by_warp.sum())
            counts.fewest_wavefronts += fewest
        else:
            counts.global_requests += request.warps
            by_warp, fewest, used = sectors_of(request)
            counts.sectors += int(by_warp.sum())
            counts.fewest_sectors += fewest
            counts.bytes_used += used
        if is_atomic:
            counts.atomics += len(request.addresses)
            counts.atomic_requests += request.warps
            counts.atomic_turns += turns_of(request)
        if self._keeps_requests:
            worst, warp = self._now.worst.get(place), int(by_warp.argmax())
            if worst is None or by_warp[warp] > worst.cost:
                self._now.worst[place] = request.of_warp(warp, int(by_warp[warp]))


def _by_space(space: str, addresses: Numbers, doing: Mask) -> list[tuple[str, Any, Any]]:
    """The memories that addresses are in, generic ones too."""
    if space == "shared::cluster":
        return [("shared", doing, addresses & np.uint64(_PEER_BITS))]
    if space:
        return [(space, doing, addresses)]
    found, left = [], doing
    for name in ("shared", "local"):
        start = WINDOWS[name]
        inside = left & (addresses >= np.uint64(start)) & (addresses < np.uint64(start + _WINDOW))
        there = addresses - np.uint64(start)
        found.append((name, inside, there & np.uint64(_PEER_BITS) if name == "shared" else there))
        left = left & ~inside
    return [*found, ("global", left, addresses)]


def _memory_of(
    block: BlockState, instruction: Instruction
) -> list[tuple[str, Callable[[], Any], Callable[[], Any], bool]]:
    """What an instruction asks of memories: which, where, how many bytes of a thread, whether it is an atomic."""
    name, words, operands = instruction.name, instruction.modifiers, instruction.operands
    space, address = space_of(instruction), block.registers.address
    if name in ("ld", "ldu", "st") and "async" not in words and space not in ("param", "const"):
        place, value = (operands[0], operands[1]) if name == "st" else (operands[1], operands[0])
        width = TYPE_BYTES[instruction.type] * len(listed(value))
        return [(space, address(place), lambda: width, False)]
    if name in ("atom", "red") and "async" not in words:
        width = TYPE_BYTES[instruction.type]
        return [(space, address(operands[1 if name == "atom" else 0]), lambda: width, True)]
    if name in ("ldmatrix", "stmatrix"):
        rows = 8 * int(next(word for word in words if word in ("x1", "x2", "x4"))[1:])
        width_of_lane = np.where(block.numbers % WARP < rows, 16, 0)
        return [("shared", address(operands[1 if name == "ldmatrix" else 0]), lambda: width_of_lane, False)]
    if name == "cp" and words[:1] == ("async",) and words[1] in ("ca", "cg"):
        size = int(operands[2])
        given = block.registers.reader(operands[3] if len(operands) > 3 else operands[2], "u32")
        return [
            ("shared", address(operands[0]), lambda: size, False),
            ("global", address(operands[1]), given, False),
        ]
    return []


_ACCESSES = {"ld": "load", "ldu": "load", "st": "store", "atom": "atomic", "red": "atomic"}
_BY_NAME = {
    "matrix products": ("mma", "wgmma"),
    "tensor memory": ("tcgen05",),
    "ldmatrix and stmatrix": ("ldmatrix", "stmatrix", "movmatrix"),
    "asynchronous copies": ("cp", "mbarrier", "tensormap", "clusterlaunchcontrol", "prefetch", "prefetchu"),
    "branches": ("bra", "brx", "ret", "exit", "trap", "call"),
    "barriers": ("bar", "barrier", "fence", "membar"),
    "shuffles and votes": ("shfl", "vote", "redux", "match", "elect", "activemask"),
    "moves": ("mov", "cvt", "cvta", "prmt", "mapa"),
    "selects": ("setp", "selp", "set", "slct", "testp"),
    "special functions": ("ex2", "lg2", "sin", "cos", "tanh", "rcp", "rsqrt", "sqrt", "div", "rem"),
}
_KINDS = {name: kind for kind, names in _BY_NAME.items() for name in names}


def kind_of(instruction: Instruction) -> str:
    """As `shared loads` or `float arithmetic`."""
    if instruction.name in _ACCESSES:
        space = (space_of(instruction) or "generic").partition("::")[0]
        return "parameters" if space == "param" else f"{space} {_ACCESSES[instruction.name]}s"
    if instruction.name in _KINDS:
        return _KINDS[instruction.name]
    is_float = any(word[:1] == "f" or word[:2] == "bf" for word in instruction.modifiers if word[-1:].isdigit())
    return "float arithmetic" if is_float else "integer arithmetic"
