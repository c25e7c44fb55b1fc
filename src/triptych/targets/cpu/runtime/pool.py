"""The thread pool that runs the blocks of kernels: its settings, its threads, and the symbols compiled code imports.

Input: the settings in force when a function that launches is loaded. Output: addresses. The work itself is native
(`pool_code`), compiled once for a process. Threads are Python's, so that one that prints has a thread state already,
and they are parked inside native code, whose frames keep that code mapped until the process ends.
"""

from __future__ import annotations

import _thread
import ctypes
import os
import random
import signal
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from threading import get_ident
from types import FrameType
from typing import Any, TypeVar

from triptych.ir.llvm.loader import LoadedObject, load_object
from triptych.ir.llvm.worker import Request
from triptych.support.config import config
from triptych.support.dataclass import dataclass
from triptych.support.errors import TriptychWarning
from triptych.support.forking import import_late
from triptych.support.processors import processors
from triptych.support.stacks import OBSERVERS, start_thread
from triptych.targets.cpu.abi.abi import (
    BLOCK_MEMORY,
    KERNEL_FAULT,
    KERNEL_STOP,
    KERNEL_STUCK,
    KERNEL_WAITING,
    KERNEL_WRITE,
    LAUNCH,
    POLL,
    TAKE_CLUSTER,
    LaunchRecord,
)
from triptych.targets.cpu.abi.system import system
from triptych.targets.cpu.calling.calling_python import PYTHON_WRITER, write_text
from triptych.targets.cpu.runtime.kept_object import kept_object
from triptych.targets.cpu.runtime.launch_errors import other_ranks, stop_cause
from triptych.targets.cpu.runtime.pool_code import (
    ASK_OTHERS,
    CONFIGURE,
    LATEST,
    POOL_PYTHON_FUNCTIONS,
    START_WORKERS,
    STOPPED,
    WORK,
    pool_code,
)
from triptych.targets.cpu.runtime.pool_fault_code import FAULT_FUNCTIONS, MAKE_KEY, USE_KEY, WATCH_FAULTS
from triptych.targets.cpu.runtime.pool_memory_code import (
    FIELDS,
    HEADER,
    KEEP_RECORDS,
    LAUNCHED,
    RAN,
    WAITED,
    with_records,
)

# Breakpoint callback of the pool: threads of a warp reach a place where they may stop, or one of them fails.

PYTHON_STOPPER = "triptych_python_stopper"
PYTHON_REMEMBERER = "triptych_python_rememberer"


def stopped(launch: int, site: int, numbers: int) -> None:
    """The debugger is imported by the first thread that stops. What it raises ends the launch."""
    import_late("triptych.targets.cpu.debugger.session").arrived(launch, site, numbers)


def failed(launch: int, site: int, numbers: int) -> None:
    """A thread has failed a check; the site is that of its last stop."""
    import_late("triptych.targets.cpu.debugger.frames").remember(launch, site, numbers)


# Execution records for profilers: when which thread ran which blocks of a kernel, written by a pool of its own.
#
# Programs that are loaded while records are kept (`keep_records`) launch on that pool; all others never know of it.

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


# Who outside of a launch could write the memory that all of its blocks wait for: then it goes on waiting.
# Other threads that run Python could, and other processes, through memory that is mapped shared. What cannot be seen
# here does not count: threads that Python does not know, and handlers of signals.

Given = TypeVar("Given")
_MAPPINGS = Path("/proc/self/maps")
_OF_DEVICES, _MEMORY = "/dev/", ("/dev/shm/", "/dev/zero")
_SEMAPHORE = "/dev/shm/sem."
_OF_RANKS = "/triptych-ranks-"
_TOLD: set[bytes] = set()
"""Launches of which it was said that they wait."""


def as_worker(work: Callable[[Given], None], given: Given) -> None:
    """The first function of a thread of a pool: it writes nothing but what blocks write."""
    work(given)


def nobody_else_writes(address: int) -> int:
    """Called by the pool when all blocks of a launch have looked in vain for a second: 1 ends the launch."""
    launch = LaunchRecord.from_address(address)
    ranks, place = other_ranks(), (address, launch.identity, launch.epoch >> 24)
    if ranks is not None and ranks.could_write(place):
        return 0
    why = _who_could(launch.caller)
    if why and launch.identity not in _TOLD:
        _TOLD.add(launch.identity)
        kernel = launch.identity.decode(errors="replace")
        text = f"{kernel} waits for memory that none of its blocks writes: it goes on, because {why}"
        warnings.warn(text, TriptychWarning, stacklevel=1)
    return int(not why)


def _who_could(caller: int) -> str:
    """A reason to go on waiting, or nothing."""
    own = {caller, get_ident(), *OBSERVERS}
    others = [frame for thread, frame in sys._current_frames().items() if thread not in own and not _is_worker(frame)]
    if others:
        return f"another thread could ({len(others)} of them run Python)"
    return "another process could (memory is mapped shared)" if _shares_memory() else ""


def _is_worker(frame: FrameType) -> bool:
    first: FrameType = frame
    while first.f_back is not None:
        first = first.f_back
    return first.f_code is as_worker.__code__


def _shares_memory() -> bool:
    """Whether this process has memory that another one may write; locks between processes are none."""
    try:
        lines = _MAPPINGS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # not Linux
        return False
    return any(map(_is_shared, lines))


def _is_shared(line: str) -> bool:
    """`address permissions offset device inode path`"""
    permissions, path = line.split(maxsplit=2)[1], line[73:].strip()
    if permissions[1] != "w" or permissions[3] != "s" or path.startswith(_SEMAPHORE):
        return False
    if _OF_RANKS in path:  # who have been asked
        return False
    return not path.startswith(_OF_DEVICES) or path.startswith(_MEMORY)


_STACK = 1 << 20
"""Bytes of a worker's stack. What is large in a block lies in the thread's arena (`pool_memory_code`)."""
_OWN_SIGNALS = {signal.SIGSEGV, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, getattr(signal, "SIGBUS", signal.SIGSEGV)}
_FROM_KERNELS = (KERNEL_FAULT, KERNEL_STUCK, KERNEL_WAITING, KERNEL_WRITE, KERNEL_STOP, BLOCK_MEMORY, TAKE_CLUSTER)
_EXPORTS = (LAUNCH, POLL, *_FROM_KERNELS)


_KEY_TYPES = {"i32": ctypes.c_uint32, "i64": ctypes.c_uint64}
_KEYS: list[int] = []
_WATCHING: list[LoadedObject] = []
"""The code that the system calls at a fault: it must stay mapped."""


class BlockPool:
    """One set of threads with its own copy of the native code. Threads start with the first launch that needs them."""

    def __init__(self, threads: int, multiplier: int, offset: int, records: int = 0) -> None:
        self._settings = (threads, multiplier, offset)
        self._start = self._start_workers
        self._started = 0
        imports = {  # an object's identity is its address
            START_WORKERS: id(self._start),
            STOPPED: id(stop_cause),
            ASK_OTHERS: id(nobody_else_writes),
            PYTHON_WRITER: id(write_text),
            PYTHON_STOPPER: id(stopped),
            PYTHON_REMEMBERER: id(failed),
            **_python_functions(),
        }
        exports = (WORK, LATEST, *FAULT_FUNCTIONS, *_EXPORTS, *([KEEP_RECORDS] if records else []))
        self._code = load_object(_pool_object(bool(records)), CONFIGURE, imports, *exports)
        if records:
            ctypes.CFUNCTYPE(None, ctypes.c_int64)(self._code.library[KEEP_RECORDS])(records)
        self._share_key()
        self.reset()

    @property
    def symbols(self) -> Mapping[str, int]:
        """What compiled code imports."""
        return {name: self._code.library[name] for name in _EXPORTS}

    def latest(self) -> tuple[str, int, int]:
        """The kernel that runs, if one does, the blocks (or clusters) of its launch, and how many there were."""
        words = (ctypes.c_int64 * 3)()
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._code.library[LATEST])(ctypes.addressof(words))
        return ctypes.string_at(words[0]).decode(errors="replace") if words[0] else "", words[1], words[2]

    def _share_key(self) -> None:
        """The first pool of a process watches for faults; threads of all keep their launches under its key."""
        key = _KEY_TYPES[system().thread_key]
        if not _KEYS:
            _KEYS.append(ctypes.CFUNCTYPE(key)(self._code.library[MAKE_KEY])())
            ctypes.CFUNCTYPE(None)(self._code.library[WATCH_FAULTS])()
            _WATCHING.append(self._code)
        ctypes.CFUNCTYPE(None, key)(self._code.library[USE_KEY])(_KEYS[0])

    def reset(self) -> None:
        """Forget all threads: there are none yet, or a fork has left them behind."""
        configure = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 3)(self._code.library[CONFIGURE])
        configure(*self._settings)
        self._started = 0

    def _start_workers(self) -> int:
        """Called by a launch; gives how many there are. Without any, the caller runs all blocks.

        An interrupt may end it anywhere; the next launch then starts the rest.
        """
        try:
            while self._started < self._settings[0] - 1 and not sys.is_finalizing():
                self._started += 1
                start_thread(_STACK, lambda: _thread.start_new_thread(as_worker, (_work, self._code)))
        except RuntimeError:  # the system has no more threads, or the interpreter is ending
            self._started -= 1
        return self._started


def latest_launches() -> list[tuple[str, int, int]]:
    """What the pools of this process are at, or did last."""
    return [pool.latest() for pool in _POOLS]


def pool_symbols(alone: bool = False) -> Mapping[str, int]:
    """The symbols of the pool for the settings in force; `alone`: the thread that launches runs all blocks."""
    settings = config()
    threads = 1 if alone else settings.threads or processors()
    return _pool_of(threads, settings.block_order, records_address()).symbols


def _work(code: LoadedObject) -> None:
    """A worker's life. Signals are for threads that can do something about them, except those it causes itself."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - _OWN_SIGNALS)
    ctypes.CFUNCTYPE(None)(code.library[WORK])()


@cache
def _pool_of(threads: int, block_order: str, records: int) -> BlockPool:
    made = BlockPool(threads, *_permutation(block_order), records)
    _POOLS.append(made)
    return made


_POOLS: list[BlockPool] = []


def _forget_threads() -> None:
    for pool in _POOLS:
        pool.reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


@cache
def _pool_object(recorded: bool) -> bytes:
    text = with_records(pool_code()) if recorded else pool_code()
    return kept_object("pool of threads", Request(opt_level=0, emit=("object",)), text)


def _permutation(block_order: str) -> tuple[int, int]:
    """Place i of the order runs block (i * multiplier + offset) modulo the number of blocks; (0, 0): place i runs i.

    A prime above the number of blocks is coprime to it, so every block runs once.
    """
    if not block_order:
        return 0, 0
    source = random.Random(int(block_order.partition(":")[2] or 0))
    return _prime_from(source.randrange(2**31, 2**32 - 2**16)), source.randrange(2**31)


def _prime_from(start: int) -> int:
    return next(n for n in range(start | 1, 2**32, 2) if all(n % d for d in range(3, 2**16, 2)))


def _python_functions() -> dict[str, int]:
    return {name: _address(getattr(ctypes.pythonapi, name)) for name in POOL_PYTHON_FUNCTIONS}


def _address(function: object) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]
