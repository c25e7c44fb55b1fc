"""Addresses of the memory of ranks: the same addresses in every process, so that compiled code needs to ask nobody.

    BASE                       words that ranks tell each other
    MULTICAST                  addresses that stand for one place on all GPUs; nobody can load or store there
    memory_of(0)               memory of rank 0
    memory_of(1)               memory of rank 1 ...

Each is a window of `WINDOW` bytes. So a place on rank r is `(r + 1) * WINDOW` after its multicast address. No system
that this runs on puts anything of its own there: programs and heaps lie below, libraries and stacks above.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import sys
from functools import cache
from typing import Any

from triptych.ranks.errors import RankError

BASE = 0x2000_0000_0000
WINDOW = 1 << 34
"""Bytes of addresses. Memory is taken when it is allocated."""
MULTICAST = BASE + WINDOW
MOST_RANKS = 16

COUNT_WORD = 0
"""Of the words at `BASE`: how many ranks there are."""
FIRST_WORD = 16
WORDS_OF_RANK = 16
"""Where the words of rank 0 begin, and how many each has. Only the rank itself writes its own."""


def memory_of(rank: int) -> int:
    """The address at which the memory of a rank begins, in each of them."""
    return MULTICAST + (rank + 1) * WINDOW


def span_of(ranks: int) -> int:
    """Bytes from `BASE` to the end of the last rank's memory."""
    return (ranks + 2) * WINDOW


_NO_ACCESS = 0
_FIXED_NO_REPLACE, _NO_RESERVE = 0x100000, 0x4000
"""Of Linux: fail rather than replace what is mapped there, and reserve no memory."""
_FAILED = ctypes.c_void_p(-1).value


@cache
def _library() -> Any:
    found = ctypes.CDLL(None, use_errno=True)
    found.mmap.restype = ctypes.c_void_p
    found.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_int64]
    found.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return found


def map_windows(file: int, ranks: int) -> None:
    """Map the memory of so many ranks from a file. Nobody can load or store at multicast addresses."""
    if not sys.platform.startswith("linux"):
        raise RankError(
            "several GPUs cannot be simulated on this operating system",
            found=sys.platform,
            expected="Linux, where a program can say at which address memory is mapped and keep what is there",
        )
    flags = mmap.MAP_SHARED | _FIXED_NO_REPLACE | _NO_RESERVE
    made = _library().mmap(BASE, span_of(ranks), mmap.PROT_READ | mmap.PROT_WRITE, flags, file, 0)
    if made != BASE:
        reason = os.strerror(ctypes.get_errno()) if made == _FAILED else f"the system gave {made:#x}"
        raise RankError(
            "the memory of the ranks cannot be mapped",
            found=reason,
            expected=f"free addresses from {BASE:#x} on, and no limit of addresses (`ulimit -v`)",
        )
    if _library().mprotect(MULTICAST, WINDOW, _NO_ACCESS):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def reserve(file: int, address: int, size: int) -> None:
    """Have the system allocate the pages now: later it could only end the process."""
    try:
        os.posix_fallocate(file, address - BASE, size)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise RankError(
            f"there is no memory left for {size:,} bytes of memory that ranks share",
            found=os.strerror(errno.ENOSPC),
            expected="room in /dev/shm, where it lies; containers give it 64 MB where nobody asks for more",
            instead="`docker run --shm-size=8g`, smaller tensors, or TMPDIR at a folder with room",
        ) from None
