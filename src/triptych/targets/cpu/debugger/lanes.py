"""Lanes of a stopped warp: the words that each has stored, and memory of the process as far as it can be read."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

from triptych.targets.cpu.abi.abi import KERNEL_STOP_NUMBERS

_WORD = 8


@dataclass(frozen=True, slots=True)
class StoppedWarp:
    """What a stop says of its warp."""

    memory: int
    stride: int
    active: int
    first: int
    width: int
    block: tuple[int, int, int]
    shape: tuple[int, int, int]

    @classmethod
    def at(cls, numbers: int) -> StoppedWarp:
        """Of the numbers that compiled code has written."""
        found = list((ctypes.c_int64 * KERNEL_STOP_NUMBERS).from_address(numbers))
        memory, stride, active, first, width, *rest = found
        x, y, z, *shape = rest
        return cls(memory, stride, active & (1 << width) - 1, first, width, (x, y, z), (shape[0], shape[1], shape[2]))

    @property
    def threads(self) -> Sequence[StoppedThread]:
        """Those that exist."""
        count = min(self.width, prod(self.shape) - self.first)
        return [self.thread(lane) for lane in range(count)]

    def thread(self, lane: int) -> StoppedThread:
        return StoppedThread(self, lane, self.first + lane, bool(self.active >> lane & 1))

    def coordinate(self, thread: int) -> tuple[int, int, int]:
        """The index of a thread by its number."""
        rows, x = divmod(thread, self.shape[0])
        z, y = divmod(rows, self.shape[1])
        return x, y, z


@dataclass(slots=True)
class StoppedThread:
    """One of them."""

    of: StoppedWarp
    lane: int
    thread: int
    active: bool

    def word(self, slot: int) -> int:
        """A word that it has kept."""
        return int(ctypes.c_uint64.from_address(self.of.memory + slot * self.of.stride + self.lane * _WORD).value)

    def read(self, address: int, size: int) -> bytes | None:
        """Memory; None where nothing is mapped, which a plain read would end the process at."""
        file = _own_memory()
        if file is None:
            return ctypes.string_at(address, size)
        try:
            found = os.pread(file, size, address)
        except (OSError, OverflowError):
            return None
        return found if len(found) == size else None

    def warp(self) -> Sequence[Any]:
        """The threads beside it."""
        return self.of.threads


@cache
def _own_memory() -> int | None:
    """The process's memory as a file, which refuses where memory itself would fault; Linux has one."""
    try:
        return os.open("/proc/self/mem", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
