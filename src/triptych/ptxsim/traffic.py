"""The rules of a GPU's memories for what a warp asks at once.

Shared memory has 32 banks of 4 bytes. In a wavefront each bank gives one word; threads that ask for the same word share
it. A warp that asks for more than 128 bytes goes in parts: two of 16 threads for 8 bytes of each, four of 8 for 16.
Global memory moves sectors of 32 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

WARP = 32
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


def _different(warps: Any, numbers: Any) -> Any:
    """How many different numbers each warp has."""
    pairs = np.unique(np.stack([warps.astype(np.uint64), numbers]), axis=1)
    return np.bincount(pairs[0].astype(np.int64))
