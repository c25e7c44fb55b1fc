"""Who outside of a launch could write the memory that all of its blocks wait for: then it goes on waiting.

Other threads that run Python could, and other processes, through memory that is mapped shared. What cannot be seen here
does not count: threads that Python does not know, and handlers of signals.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from threading import get_ident
from types import FrameType
from typing import TypeVar

from triptych.support.warnings import TriptychWarning
from triptych.targets.cpu.abi.launch_record import LaunchRecord

Given = TypeVar("Given")
_MAPPINGS = Path("/proc/self/maps")
_OF_DEVICES, _MEMORY = "/dev/", ("/dev/shm/", "/dev/zero")
_SEMAPHORE = "/dev/shm/sem."
_TOLD: set[bytes] = set()
"""Launches of which it was said that they wait."""


def as_worker(work: Callable[[Given], None], given: Given) -> None:
    """The first function of a thread of a pool: it writes nothing but what blocks write."""
    work(given)


def nobody_else_writes(address: int) -> int:
    """Called by the pool when all blocks of a launch have looked in vain for a second: 1 ends the launch."""
    launch = LaunchRecord.from_address(address)
    why = _who_could(launch.caller)
    if why and launch.identity not in _TOLD:
        _TOLD.add(launch.identity)
        kernel = launch.identity.decode(errors="replace")
        text = f"{kernel} waits for memory that none of its blocks writes: it goes on, because {why}"
        warnings.warn(text, TriptychWarning, stacklevel=1)
    return int(not why)


def _who_could(caller: int) -> str:
    """A reason to go on waiting, or nothing."""
    own = {caller, get_ident()}
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
    return not path.startswith(_OF_DEVICES) or path.startswith(_MEMORY)
