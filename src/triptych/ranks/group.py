"""A group of ranks as one of its processes sees it: who is there, what they agree on, whom one waits for in vain.

One of the ranks makes a folder, and all others learn its name from it, by whatever they talk through. It holds one
sparse file: words that ranks tell each other, and their memory (`addresses`). A rank that lives holds a lock on one
byte of another file, which the system takes from it when the process ends, however it ends. So a wait for somebody who
has ended is told from a long one. The names are removed as soon as all have come: nothing stays behind.
"""

from __future__ import annotations

import ctypes
import importlib
import itertools
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from enum import IntEnum, auto
from pathlib import Path
from typing import Any

from triptych.ranks.addresses import (
    BASE,
    COUNT_WORD,
    FIRST_WORD,
    MOST_RANKS,
    WORDS_OF_RANK,
    map_windows,
    memory_of,
    reserve,
    span_of,
)
from triptych.ranks.errors import RankError
from triptych.support.dataclass import dataclass
from triptych.support.tracebacks import caller

_FILES: Any = importlib.import_module("fcntl") if os.name == "posix" else None
"""`fcntl`; None on Windows, which has no ranks."""

_MEMORY, _LOCKS = "memory", "locks"
_IN_MEMORY = "/dev/shm"
_PAUSE = 0.0005
_PATIENCE = 60.0
"""Seconds until a rank must have come that others wait for: `import torch` on a busy machine takes some."""


class _Word(IntEnum):
    """The words of a rank."""

    JOINED = 0
    """The process, once it has joined."""
    ARRIVED = auto()
    """How many barriers it has come to."""
    VALUE = auto()
    """What it says at a barrier."""
    LOOKED = auto()
    """When it last looked in vain, in nanoseconds that all processes share."""
    WAIT = auto()
    """Which wait that was, of a kernel or of the host: it changes whenever the rank gets on."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a rank says of its wait: which it is, and when it looked last."""

    wait: int
    looked: int


def make_folder() -> Path:
    """An empty folder for the files of a group."""
    place = _IN_MEMORY if os.access(_IN_MEMORY, os.W_OK) else None
    return Path(tempfile.mkdtemp(prefix="triptych-ranks-", dir=place))


def _make_files(folder: Path, ranks: int) -> None:
    """Those of a group of so many ranks. The locks come last: who sees them sees all."""
    if not 1 <= ranks <= MOST_RANKS:
        raise RankError("that many GPUs cannot be simulated", found=str(ranks), expected=f"1 to {MOST_RANKS}")
    with open(folder / _MEMORY, "xb") as file:
        os.truncate(file.fileno(), span_of(ranks))
        os.pwrite(file.fileno(), ranks.to_bytes(8, sys.byteorder), COUNT_WORD * 8)
    (folder / _LOCKS).touch(exist_ok=False)


def _await_files(folder: Path, rank: int) -> None:
    began = time.monotonic()
    while not (folder / _LOCKS).exists():
        if time.monotonic() - began > _PATIENCE:
            raise RankError(
                f"rank {rank} waits for rank 0, which has not come within {_PATIENCE:.0f} s",
                span=caller(),
                expected="rank 0 to begin the group",
            )
        time.sleep(_PAUSE)


_WAITS = itertools.count(1)


def new_wait() -> int:
    """A number for a wait that no other of this process has."""
    return next(_WAITS)


class Group:
    """This process as a rank of its group."""

    def __init__(self, folder: Path, rank: int) -> None:
        self.rank = rank
        self._file = os.open(folder / _MEMORY, os.O_RDWR)
        self._locks = os.open(folder / _LOCKS, os.O_RDWR)
        self.size = int.from_bytes(os.pread(self._file, 8, COUNT_WORD * 8), sys.byteorder)
        if not 0 <= rank < self.size:
            raise RankError(f"there is no rank {rank}", found=f"rank {rank}", expected=f"one of {self.size} ranks")
        self._take_place()
        map_windows(self._file, self.size)
        words = FIRST_WORD + MOST_RANKS * WORDS_OF_RANK
        self._words = (ctypes.c_int64 * words).from_address(BASE)
        self._barriers = 0
        self._set(_Word.JOINED, os.getpid())

    def _take_place(self) -> None:
        try:
            _FILES.lockf(self._locks, _FILES.LOCK_EX | _FILES.LOCK_NB, 1, self.rank)
        except OSError:
            raise RankError(
                f"another process is rank {self.rank} already",
                expected="one process for each rank",
                instead="a rank of its own for each process, as `torch.multiprocessing.spawn` gives it",
            ) from None

    # words ----------------------------------------------------------------------------------------------------
    def _get(self, rank: int, word: _Word) -> int:
        return int(self._words[FIRST_WORD + rank * WORDS_OF_RANK + word])

    def _set(self, word: _Word, value: int) -> None:
        self._words[FIRST_WORD + self.rank * WORDS_OF_RANK + word] = value

    @property
    def others(self) -> list[int]:
        """The other ranks."""
        return [rank for rank in range(self.size) if rank != self.rank]

    # who lives ------------------------------------------------------------------------------------------------
    def lives(self, rank: int) -> bool:
        """Whether the process of a rank has joined and not ended."""
        try:
            _FILES.lockf(self._locks, _FILES.LOCK_SH | _FILES.LOCK_NB, 1, rank)
        except OSError:
            return True
        _FILES.lockf(self._locks, _FILES.LOCK_UN, 1, rank)
        return False

    # waiting --------------------------------------------------------------------------------------------------
    def barrier(self, what: str = "a barrier of all ranks") -> None:
        """Wait until every rank has come."""
        self._barriers += 1
        self._set(_Word.ARRIVED, self._barriers)
        self.wait(lambda rank: self._get(rank, _Word.ARRIVED) >= self._barriers, what)

    def wait(self, has_come: Callable[[int], bool], what: str) -> None:
        """Wait until something holds of every other rank; an error as soon as it never will."""
        began, mine = time.monotonic(), new_wait()
        missing = self.others
        while missing := [rank for rank in missing if not has_come(rank)]:
            for rank in missing:
                self._check(rank, has_come, what, time.monotonic() - began)
            self.say_waiting(mine)
            time.sleep(_PAUSE)

    def _check(self, rank: int, has_come: Callable[[int], bool], what: str, passed: float) -> None:
        joined = bool(self._get(rank, _Word.JOINED))
        if self.lives(rank) or (not joined and passed < _PATIENCE) or has_come(rank):
            return
        how = "has ended" if joined else f"has not come within {_PATIENCE:.0f} s"
        raise RankError(
            f"rank {self.rank} waits for rank {rank}, which {how}",
            span=caller(),
            found=f"rank {self.rank} of {self.size} waits at {what}",
            expected="every rank to come there",
            instead="" if joined else "as many processes as there are GPUs, or fewer by `--gpus`",
        )

    def agree(self, what: str, value: int) -> None:
        """Every rank says a number; an error unless all say the same."""
        said = self.exchange(what, value)
        if len(set(said)) > 1:
            raise RankError(
                f"the ranks do not agree on {what}",
                span=caller(),
                found=", ".join(f"rank {rank}: {each:,}" for rank, each in enumerate(said)),
                expected="the same calls with the same sizes, in the same order, on every rank",
            )

    def exchange(self, what: str, value: int) -> list[int]:
        """Every rank says a number (64 bits); all of them, by rank."""
        self._set(_Word.VALUE, value)
        self.barrier(what)
        said = [self._get(rank, _Word.VALUE) for rank in range(self.size)]
        self.barrier(what)
        return said

    # kernels that wait -------------------------------------------------------------------------------------------
    def say_waiting(self, wait: int) -> None:
        """This rank waits, in a kernel or here, and has looked in vain; `wait` tells this wait from others."""
        self._set(_Word.WAIT, wait)
        self._set(_Word.LOOKED, time.monotonic_ns())

    def waiting(self) -> dict[int, Waiting | None]:
        """What the other ranks said of that last; None of those that are there no more."""
        found: dict[int, Waiting | None] = {}
        for rank in self.others:
            if not self._get(rank, _Word.JOINED) or self.lives(rank):
                found[rank] = Waiting(self._get(rank, _Word.WAIT), self._get(rank, _Word.LOOKED))
            else:
                found[rank] = None
        return found

    # memory -------------------------------------------------------------------------------------------------------
    def reserve(self, offset: int, size: int) -> None:
        """Memory of this rank, from an offset on, is going to be used."""
        reserve(self._file, memory_of(self.rank) + offset, size)


_JOINED: list[Group] = []


def group() -> Group | None:
    """The group that this process has joined, if it has."""
    return _JOINED[0] if _JOINED else None


def joined() -> Group:
    """The group that this process has joined; an error if there is none."""
    if not _JOINED:
        raise RankError(
            "this process belongs to no group of ranks",
            span=caller(),
            expected="`torch.distributed.init_process_group` or `nvshmem.core.init` before memory that GPUs share",
        )
    return _JOINED[0]


def join(folder: Path, rank: int, size: int) -> Group:
    """This process is a rank from now on, beside all others that come to the same folder."""
    if rank == 0:
        _make_files(folder, size)
    else:
        _await_files(folder, rank)
    made = Group(folder, rank)
    _JOINED.append(made)
    made.barrier("the beginning of the group")
    if rank == 0:
        shutil.rmtree(folder)
    return made


def _forget() -> None:
    """A fork is not the rank that its parent is; it keeps the memory that was mapped."""
    _JOINED.clear()


if os.name == "posix":
    os.register_at_fork(after_in_child=_forget)
