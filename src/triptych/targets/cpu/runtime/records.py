"""Execution records for profilers: when which thread ran which blocks of a kernel, written by a pool of its own.

Programs that are loaded while records are kept (`keep_records`) launch on that pool; all others never know of it.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

from triptych.targets.cpu.runtime.pool_memory_code import FIELDS, HEADER, LAUNCHED, RAN, WAITED

_NAMES = {LAUNCHED: "launch", RAN: "blocks", WAITED: "wait"}
_KEPT: list[Any] = []
"""The memory that they are in: one for a process, because pools have its address in their code."""


@dataclass(frozen=True, slots=True)
class Record:
    """What one thread did for a launch, between two times in nanoseconds of `support.timeline`."""

    what: str
    """`launch`, `blocks` or `wait`: the end of a launch, when the thread that launched has no blocks left."""
    kernel: str
    thread: int
    first: int
    last: int
    """Blocks from `first` to before `last`."""
    begin: int
    end: int


def keep_records(room: int = 1 << 16) -> None:
    """Programs that are loaded from now on are recorded, `room` records between two readings."""
    if not _KEPT:
        _KEPT.append((ctypes.c_int64 * (HEADER + room * FIELDS))(0, room))


def records_address() -> int:
    """Of the memory; 0 when nothing is recorded."""
    return ctypes.addressof(_KEPT[0]) if _KEPT else 0


def are_many() -> bool:
    """Whether there is room for as many more at most."""
    return bool(_KEPT) and 2 * int(_KEPT[0][0]) > int(_KEPT[0][1])


def take_records() -> tuple[list[Record], int]:
    """Those since the last time, and how many more there was no room for. Nothing may be running."""
    memory = _KEPT[0]
    count, room = memory[0], memory[1]
    found = [_record(memory[HEADER + i * FIELDS : HEADER + (i + 1) * FIELDS]) for i in range(min(count, room))]
    memory[0] = 0
    return found, max(0, count - room)


def _record(words: list[int]) -> Record:
    what, identity, thread, first, last, begin, end = words
    text = ctypes.string_at(identity).decode(errors="replace")  # of a program that is still loaded
    return Record(_NAMES[what], text.removeprefix("the kernel "), thread, first, last, begin, end)
