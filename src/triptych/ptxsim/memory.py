"""Memory spaces of a GPU: bytes at addresses. A misaligned access, or one outside what was allocated, is an error.

Shared memory is seen by two proxies, the generic one of ordinary instructions and the asynchronous one. TMA copies
and WGMMA do not see what threads have stored until a `fence.proxy.async` of the writer, or of somebody
whom the writer has met since. Who wrote each byte last without one is kept; when such a byte is read, or written over,
by an instruction of the other proxy, that is an error: on a GPU it would be old bytes, at times.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from triptych.ptxsim.conversions import Mask, Numbers

GAP = 1 << 20
"""Between allocations, so that an index that is a little wrong hits none."""
ALIGNMENT = 256
UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
WIDEST = 16
"""Bytes that a vector load may complete: LLVM fills gaps between neighbours, and reads what it does not use. Four
neighbours of a byte each are one word, of which the last bytes may lie behind the end; a GPU allocates whole words."""
JUNK = 0xCD
"""In memory that nobody has written."""


class AccessError(Exception):
    """What a GPU would report as a misaligned address or an illegal access, or take for other memory."""


class Room:
    """Bytes from an address on; for private memory a row of them for each thread."""

    def __init__(self, base: int, size: int, threads: int | None = None) -> None:
        self.base = base
        self.size = size
        padded = -(-size // 32) * 32
        self.bytes = np.full((threads or 1, padded), JUNK, np.uint8)
        self.is_private = threads is not None
        self.before = 0
        """Bytes in front of the first address, for words to begin at multiples of their size."""

    def load(self, addresses: Numbers, threads: Numbers | int, size: int, count: int) -> list[Any]:
        """`count` numbers of `size` bytes from each address."""
        beyond = -(self.base + self.size) % (WIDEST if count > 1 else size)
        rows, places = self.places(addresses, threads, size, count, beyond)
        words = self.words(size)
        return [words[rows, places + i] for i in range(count)]

    def store(self, addresses: Numbers, threads: Numbers, values: list[Any], size: int) -> None:
        rows, places = self.places(addresses, threads, size, len(values))
        words = self.words(size)
        for i, value in enumerate(values):
            words[rows, places + i] = value

    def note(self, addresses: Numbers, threads: Numbers, size: int) -> None:
        """Threads have written; only shared memory remembers who."""

    def words(self, size: int) -> Any:
        """The memory as numbers of some bytes each."""
        return self.bytes.view(UNSIGNED[size])

    def places(
        self, addresses: Numbers, threads: Numbers | int, size: int, count: int = 1, beyond: int = 0
    ) -> tuple[Any, Any]:
        """Where `count` numbers of `size` bytes at each address begin among `words`; some may lie beyond the end."""
        offsets = addresses.astype(np.int64) - self.base
        if len(offsets) and (offsets.min() < 0 or offsets.max() + size * count > self.size + beyond):
            wrong = offsets[(offsets < 0) | (offsets + size * count > self.size + beyond)][0]
            raise AccessError(f"{size * count} bytes at {wrong} of {self.size}")
        if ((addresses % np.uint64(size * count)) != 0).any():
            raise AccessError(f"{size * count} bytes at {int(offsets[0])} are not aligned")
        return (threads if self.is_private else 0), (offsets + self.before) // size


class Memory:
    """Rooms, none of which touch."""

    def __init__(self, base: int) -> None:
        self._next = base
        self.rooms: list[Room] = []

    def allocate(self, size: int) -> Room:
        room = Room(self._next, size)
        self._next += -(-(size + GAP) // ALIGNMENT) * ALIGNMENT
        self.rooms.append(room)
        return room

    def add(self, room: Room) -> None:
        self.rooms.append(room)

    def free(self, base: int) -> None:
        self.rooms = [room for room in self.rooms if room.base != base]

    def room_at(self, address: int) -> Room:
        """The room that an address is in or a little behind."""
        before = [room for room in self.rooms if room.base <= address]
        if not before:
            raise AccessError(f"nothing is at address {address:#x}")
        return max(before, key=lambda room: room.base)

    def parts(self, addresses: Numbers) -> list[tuple[Room, Any]]:
        """The rooms that addresses are in, and which addresses those are."""
        parts, left = [], np.ones(len(addresses), bool)
        while left.any():
            room = self.room_at(int(addresses[left].min()))
            behind = min((other.base for other in self.rooms if other.base > room.base), default=1 << 64)
            here = left & (addresses >= np.uint64(room.base)) & (addresses.astype(object) < behind).astype(bool)
            parts.append((room, here))
            left &= ~here
        return parts


class UnfencedError(Exception):
    """A copy or a product would find what was there before the stores of threads."""


class SharedRoom(Room):
    """The shared memory of a block of so many threads; `is_watched` where instructions of both kinds use it."""

    def __init__(self, base: int, size: int, threads: int, *, is_watched: bool) -> None:
        super().__init__(base, size)
        self._writers = np.zeros(self.bytes.shape[1], np.uint16) if is_watched else None
        """Of each byte: 0 for none, a thread's number + 1, or `_met` for one that others have met since."""
        self._met = threads + 1

    def start(self) -> None:
        """A new block begins."""
        self.bytes[:] = JUNK
        if self._writers is not None:
            self._writers[:] = 0

    def store(self, addresses: Numbers, threads: Numbers, values: list[Any], size: int) -> None:
        super().store(addresses, threads, values, size)
        self.note(addresses, threads, size * len(values))

    def note(self, addresses: Numbers, threads: Numbers, size: int) -> None:
        """Threads have written so many bytes at each address."""
        if self._writers is not None:
            places = (addresses.astype(np.int64) - self.base)[:, None] + np.arange(size)
            self._writers[places] = (np.asarray(threads) + 1).reshape(-1, 1)

    def meet(self, mask: Mask) -> None:
        """Threads tell others that they have come so far: from now on a fence of those will do."""
        if self._writers is not None:
            self._writers[self._of(mask)] = self._met

    def fence(self, mask: Mask) -> None:
        """`fence.proxy.async` of threads."""
        if self._writers is not None:
            self._writers[self._of(mask) | (self._writers == self._met)] = 0

    def _of(self, mask: Mask) -> Any:
        chosen = np.zeros(self._met + 1, bool)
        chosen[1 : len(mask) + 1] = mask
        return chosen[self._writers]

    # the other kind ------------------------------------------------------------------------------------------------
    def check(self, addresses: Numbers, what: str) -> None:
        """An instruction of the other kind is about to touch bytes."""
        places = self._inside(addresses)
        if self._writers is not None and self._writers[places].any():
            first = int(places[self._writers[places] != 0][0])
            raise UnfencedError(
                f"{what}: byte {first} of shared memory was stored by a thread, without a fence.proxy.async since then"
            )

    def read(self, addresses: Numbers, what: str) -> Any:
        """Bytes, for an instruction of the other kind."""
        self.check(addresses, what)
        return self.bytes[0, self._inside(addresses)]

    def write(self, addresses: Numbers, values: Numbers, what: str) -> None:
        self.check(addresses, what)
        self.bytes[0, self._inside(addresses)] = values

    def _inside(self, addresses: Numbers) -> Any:
        places = np.asarray(addresses).astype(np.int64) - self.base
        if places.size and (places.min() < 0 or places.max() >= self.size):
            raise AccessError(f"byte {int(places.max())} of {self.size} of shared memory")
        return places
