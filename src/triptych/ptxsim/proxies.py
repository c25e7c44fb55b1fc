"""Shared memory as two kinds of instructions see it: ordinary ones, and those that go on by themselves.

Copies of boxes and products of warpgroups do not see what threads have stored until a `fence.proxy.async` of the
writer, or of somebody whom the writer has met since. Who wrote each byte last without one is kept; when such a byte is
read, or written over, by an instruction of the other kind, that is an error: on a GPU it would be old bytes, at times.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from triptych.ptxsim.memory import JUNK, AccessError, Room


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

    def store(self, addresses: Any, threads: Any, values: list[Any], size: int) -> None:
        super().store(addresses, threads, values, size)
        self.note(addresses, threads, size * len(values))

    def note(self, addresses: Any, threads: Any, size: int) -> None:
        """Threads have written so many bytes at each address."""
        if self._writers is not None:
            places = (addresses.astype(np.int64) - self.base)[:, None] + np.arange(size)
            self._writers[places] = (np.asarray(threads) + 1).reshape(-1, 1)

    def meet(self, mask: Any) -> None:
        """Threads tell others that they have come so far: from now on a fence of those will do."""
        if self._writers is not None:
            self._writers[self._of(mask)] = self._met

    def fence(self, mask: Any) -> None:
        """`fence.proxy.async` of threads."""
        if self._writers is not None:
            self._writers[self._of(mask) | (self._writers == self._met)] = 0

    def _of(self, mask: Any) -> Any:
        chosen = np.zeros(self._met + 1, bool)
        chosen[1 : len(mask) + 1] = mask
        return chosen[self._writers]

    # the other kind ------------------------------------------------------------------------------------------------
    def check(self, addresses: Any, what: str) -> None:
        """An instruction of the other kind is about to touch bytes."""
        places = self._inside(addresses)
        if self._writers is not None and self._writers[places].any():
            first = int(places[self._writers[places] != 0][0])
            raise UnfencedError(
                f"{what}: byte {first} of shared memory was stored by a thread, without a fence.proxy.async since then"
            )

    def read(self, addresses: Any, what: str) -> Any:
        """Bytes, for an instruction of the other kind."""
        self.check(addresses, what)
        return self.bytes[0, self._inside(addresses)]

    def write(self, addresses: Any, values: Any, what: str) -> None:
        self.check(addresses, what)
        self.bytes[0, self._inside(addresses)] = values

    def _inside(self, addresses: Any) -> Any:
        places = np.asarray(addresses).astype(np.int64) - self.base
        if places.size and (places.min() < 0 or places.max() >= self.size):
            raise AccessError(f"byte {int(places.max())} of {self.size} of shared memory")
        return places
