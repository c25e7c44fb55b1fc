"""Memory cost of a warp's access: bank conflicts in shared memory, sectors in global memory.

Input: the layout of a tile in elements, and an access: a layout from threads (and, for vector accesses, the
elements of each) to coordinates of the tile. Output: numbers by bank or sector, without any device.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from triptych.layout.coordinates import index_to_coord
from triptych.layout.errors import AccessError, UndecidableError
from triptych.layout.picture import Function
from triptych.layout.tuples import IntTuple, product, rank_of
from triptych.support.dataclass import dataclass

WARP = 32
"""Threads whose accesses are one request: these are NVIDIA's memories."""
BANKS = 32
BANK_BITS = 32
SECTOR_BITS = 256


@dataclass(frozen=True, slots=True)
class BankConflicts:
    """`by_bank` counts the distinct words of each bank in the worst phase; each extra word costs a pass."""

    degree: int
    phases: int
    passes: int
    by_bank: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.degree}-way ({self.passes} passes, at best {self.phases})"


@dataclass(frozen=True, slots=True)
class Sectors:
    """How many sectors the requests of an access touch, against the fewest that could hold the bytes it uses."""

    requests: int
    sectors: int
    fewest: int

    @property
    def per_request(self) -> float:
        """Sectors that one request moves."""
        return self.sectors / self.requests

    @property
    def efficiency(self) -> float:
        """The part of the moved bytes that was asked for."""
        return self.fewest / self.sectors

    def __str__(self) -> str:
        return f"{self.per_request:g} sectors per request, {self.efficiency:.0%} used"


def bank_conflicts(tile: Function, access: Function, *, bits: int = 32) -> BankConflicts:
    """The conflict degree of an access to shared memory: 1 is conflict-free.

    A warp moves at most one word per bank at a time, so wide accesses go in phases of fewer threads. Threads that
    read the same word share it.
    """
    requests = list(_bit_ranges(tile, access, bits))
    per_thread = max(BANK_BITS, max(last - first for request in requests for first, last in request))
    together = max(1, BANKS * BANK_BITS // per_thread)
    phases = [request[start : start + together] for request in requests for start in range(0, len(request), together)]
    counts = [_words_by_bank(phase) for phase in phases]
    worst = max(counts, key=max)
    return BankConflicts(max(worst), len(phases), sum(map(max, counts)), worst)


def global_sectors(tile: Function, access: Function, *, bits: int = 32) -> Sectors:
    """The sectors an access to global memory moves, warp by warp."""
    requests = list(_bit_ranges(tile, access, bits))
    touched = [
        {s for first, last in request for s in range(first // SECTOR_BITS, -(-last // SECTOR_BITS))}
        for request in requests
    ]
    used = [len({bit for first, last in request for bit in range(first, last, bits)}) * bits for request in requests]
    return Sectors(len(requests), sum(map(len, touched)), sum(math.ceil(n / SECTOR_BITS) for n in used))


def accessed(tile: Function, access: Function) -> frozenset[IntTuple]:
    """The coordinates of the tile that an access touches, nested like its shape."""
    count = _static(product(access.shape))
    return frozenset(index_to_coord(_coordinate(tile, access, i), tile.shape) for i in range(count))


def _coordinate(tile: Function, access: Function, index: int) -> IntTuple:
    """Where an access goes; modes of the tile it never moves along stay at 0."""
    coord = access(index)
    return coord + (0,) * (rank_of(tile.shape) - len(coord)) if isinstance(coord, tuple) else coord


def _words_by_bank(phase: list[tuple[int, int]]) -> tuple[int, ...]:
    words = {word for first, last in phase for word in range(first // BANK_BITS, -(-last // BANK_BITS))}
    counts = [0] * BANKS
    for word in words:
        counts[word % BANKS] += 1
    return tuple(counts)


def _bit_ranges(tile: Function, access: Function, bits: int) -> Iterator[list[tuple[int, int]]]:
    """For each warp, the range of bits every thread moves."""
    threads, held = _split(access)
    ranges = [_range(tile, access, thread, held, bits) for thread in range(threads)]
    for start in range(0, threads, WARP):
        yield ranges[start : start + WARP]


def _range(tile: Function, access: Function, thread: int, held: int, bits: int) -> tuple[int, int]:
    threads, _ = _split(access)
    offsets = [_static(tile(_coordinate(tile, access, thread + threads * value))) for value in range(held)]
    if offsets != list(range(offsets[0], offsets[0] + held)):
        raise AccessError(
            "the elements of a vector access must lie next to each other",
            found=f"thread {thread} touches {offsets}",
            instead="an access with one element per thread",
        )
    return offsets[0] * bits, (offsets[0] + held) * bits


def _split(access: Function) -> tuple[int, int]:
    size = _static(product(access.shape))
    threads = _static(product(access.shape[0])) if isinstance(access.shape, tuple) else size
    return threads, size // threads


def _static(value: object) -> int:
    if not isinstance(value, int):
        raise UndecidableError("memory accesses are counted for static layouts", found=str(value))
    return value
