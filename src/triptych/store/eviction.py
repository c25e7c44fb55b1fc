"""Keeping a directory within its budget: what was not used for the longest leaves first.

Every file counts alone, records and artifacts alike: an entry that has lost an artifact is a miss, and dropped when it
is asked for. So nothing has to count who refers to what, and any number of processes may evict at once. The files of
an entry are used together, so they leave together, but for the last one that leaves.

How much has been written is the length of a file, `ledger`, to which every writer appends one byte per KiB. When that
is a sixteenth of the budget, the directory is looked through, once, by whoever comes first.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from triptych.store.directory import Directory, StoredFile
from triptych.store.entry import Pruned
from triptych.store.events import report

_KIB = 1024
_SHARE = 16
_FUTURE = 60.0
"""Seconds that a time may lie ahead, as clocks of two machines differ, before it is taken for wrong."""


def account(directory: Directory, written: int, budget: int) -> None:
    """Note what was written, and evict when enough has been."""
    path = os.path.join(directory.root, "ledger")
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        os.write(descriptor, b"." * -(-written // _KIB))
        if os.fstat(descriptor).st_size * _KIB <= budget // _SHARE:
            return
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)
    evict(directory, budget - budget // _SHARE)


def evict(directory: Directory, limit: int) -> Pruned:
    """Remove files until at most `limit` bytes are left."""
    directory.remove_leftovers()
    now = time.time()
    files = sorted((_age_order(file, now), file.path, file) for file in directory.files())
    left = sum(file.size for _, _, file in files)
    removed = freed = 0
    for _, _, file in files:
        if left <= limit:
            break
        with suppress(FileNotFoundError):  # another process evicts as well
            os.unlink(file.path)
            removed, freed = removed + 1, freed + file.size
            report("evict", file.name, detail=f"{file.part}, {file.size} bytes")
        left -= file.size
    return Pruned(removed, freed, left)


def _age_order(file: StoredFile, now: float) -> float:
    """When a file was used, for sorting. One from the future is used now, and ages from now on."""
    used = file.used
    if used > now + _FUTURE:
        with suppress(OSError):
            os.utime(file.path)
        used = now
    return used
