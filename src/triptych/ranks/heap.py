"""Memory that every rank has at the same place of its own: it is handed out alike, as all ranks ask alike."""

from __future__ import annotations

import ctypes

from triptych.ranks.addresses import BASE, MULTICAST, WINDOW, memory_of
from triptych.ranks.errors import RankError
from triptych.ranks.group import Group

ALIGNMENT = 512
"""Of everything that is handed out, as of CUDA's own allocators."""


class SymmetricHeap:
    """The memory of one rank: first fit, so that the same calls give the same offsets on all ranks."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self._taken: dict[int, int] = {}
        """Offset -> bytes."""

    def allocate(self, size: int) -> int:
        """The offset of new memory, all zeros."""
        wanted = -(-max(size, 1) // ALIGNMENT) * ALIGNMENT
        offset = 0
        for start, length in sorted(self._taken.items()):
            if start - offset >= wanted:
                break
            offset = start + length
        if offset + wanted > WINDOW:
            raise RankError(
                "a simulated GPU has no room for this",
                found=f"{size:,} bytes after {sum(self._taken.values()):,}",
                expected=f"at most {WINDOW:,} bytes of memory that GPUs share",
            )
        self.group.reserve(offset, wanted)
        self._taken[offset] = wanted
        ctypes.memset(self.address(self.group.rank, offset), 0, wanted)
        return offset

    def free(self, offset: int) -> None:
        """Give memory back."""
        del self._taken[offset]

    def start_of(self, address: int) -> int | None:
        """The offset at which the memory begins that an address of this rank lies in."""
        place = address - memory_of(self.group.rank)
        return next((start for start, size in self._taken.items() if start <= place < start + size), None)

    def size_of(self, offset: int) -> int:
        """The bytes of the memory that begins there."""
        return self._taken[offset]

    @staticmethod
    def address(rank: int, offset: int) -> int:
        """Where a rank has it."""
        return memory_of(rank) + offset

    @staticmethod
    def multicast_address(offset: int) -> int:
        """The address that stands for it on all ranks."""
        return MULTICAST + offset


def is_multicast(address: int) -> bool:
    """Whether an address stands for a place on all GPUs."""
    return MULTICAST <= address < MULTICAST + WINDOW


def rank_of(address: int) -> int | None:
    """Whose memory an address is in."""
    number = (address - BASE) // WINDOW - 2
    return number if number >= 0 and address >= BASE else None
