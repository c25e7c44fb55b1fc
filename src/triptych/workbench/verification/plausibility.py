"""Plausibility checks: results that are not computed are found, and what is no result must fail under the tolerance.

Stale memory, lazy classes, work after the return, what a kernel leaves behind: guards look for these. The tolerance
itself is tested, or these inputs prove nothing.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np

from triptych.support.dataclass import dataclass
from triptych.workbench.arrays import Array, arrays_in, bits, clone, digest, is_tensor, size_in_bytes, torch
from triptych.workbench.verification.comparison import Expected
from triptych.workbench.verification.findings import Reason

WAIT = 0.05
"""Seconds after which work that a call has left behind should show."""
_COPIES = 3
_OURS = "triptych"
_LOOKS = 20
"""Times that a process is looked at which may be about to run another program."""


def spoil_freed_memory(sizes: Sequence[int]) -> None:
    """Fill memory of these sizes with ones, which are NaN in every floating type, and free it again."""
    for _ in range(_COPIES):
        held: list[Any] = [np.full(max(size, 1), 0xFF, np.uint8) for size in sizes]
        if torch() is not None:
            held += [torch().full((max(size, 1),), 0xFF, dtype=torch().uint8, device="cpu") for size in sizes]
        del held


def type_problem(output: Any, own: Array) -> str:
    """Why the class of a result cannot be trusted; empty if it can."""
    allowed = (np.ndarray, np.generic) if not is_tensor(own) else (torch().Tensor,)
    exact = type(output) in (np.ndarray, type(own)) or isinstance(output, np.generic)
    if (is_tensor(output) and type(output) is torch().Tensor) or (exact and isinstance(output, allowed)):
        return ""
    if type(output) is type(own):
        return ""
    return (
        f"the result is a {type(output).__module__}.{type(output).__qualname__}, which may compute its numbers when "
        f"they are asked for; expected {type(own).__module__}.{type(own).__qualname__} itself"
    )


class Leftovers:
    """Threads and processes that were not there before."""

    def __init__(self) -> None:
        self._threads = set(threading.enumerate())
        self._children = _children()

    def problems(self) -> Iterator[tuple[Reason, str]]:
        """What lives still; our own workers do not count."""
        for thread in threading.enumerate():
            if thread not in self._threads and thread.is_alive() and not thread.name.startswith(_OURS):
                yield "left behind", f"the thread {thread.name!r} still runs after the kernel has returned"
        for pid in _children() - self._children:
            command = _settled_command(pid)
            if command and _OURS not in command:
                yield "left behind", f"the process {command[:60]!r} still runs after the kernel has returned"


class Inputs:
    """A set of inputs, and whether a call has changed one that it must not."""

    def __init__(self, values: Sequence[Any], mutates: frozenset[int]) -> None:
        self.values = list(values)
        self._kept = {i: self._bits(i) for i in range(len(values)) if i not in mutates}

    def changed(self) -> list[int]:
        """The positions of inputs that are not what they were."""
        return [i for i, kept in self._kept.items() if self._bits(i) != kept]

    def _bits(self, position: int) -> list[bytes]:
        return [bits(array) for array in arrays_in([self.values[position]])]


class Returned:
    """What a call has returned: copied at once, and looked at again when what it left behind has had time."""

    def __init__(self, outputs: list[Any]) -> None:
        self.outputs = outputs
        self.copies = [clone(output) for output in outputs]
        self.digests = [digest(copy) for copy in self.copies]

    def changes_later(self) -> list[int]:
        """The positions of results that are not what they were when the call returned."""
        time.sleep(WAIT)
        return [i for i, output in enumerate(self.outputs) if digest(output) != self.digests[i]]


def sizes_of(values: Sequence[Any]) -> list[int]:
    """Bytes of every array among them."""
    return [size_in_bytes(array) for array in arrays_in(values)]


def _children() -> set[int]:
    found = set()
    for task in Path("/proc/self/task").glob("*/children"):
        try:
            found |= {int(pid) for pid in task.read_text().split()}
        except OSError:  # the thread has ended
            continue
    return found


def _settled_command(pid: int) -> str:
    """What a process runs: one that was just forked has our own command until it runs another."""
    command, ours = _command(pid), _command(os.getpid())
    for _ in range(_LOOKS):
        if command != ours:
            break
        time.sleep(WAIT)
        command = _command(pid)
    return command


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:  # it has ended
        return ""


_LARGE = 1024
"""Elements of an output that must refuse imitations by itself; smaller ones may leave it to other cases."""


@dataclass(slots=True)
class Doubts:
    """Which imitations passed, over all cases: a case of one element proves little, and need not."""

    _passed: dict[tuple[int, str], list[tuple[str, bool, bool]]] = field(default_factory=dict)

    def tried(self, output: int, expected: Expected, accepted: set[str], case: str) -> None:
        """What one case has accepted of all that was tried."""
        for name in IMITATIONS:
            tried = self._passed.setdefault((output, name), [])
            tried.append((case, name in accepted, is_large(expected)))

    def accepted(self) -> Iterator[tuple[str, str]]:
        """A sentence for each imitation that a large output accepts, or that nothing refuses; and the case."""
        for (output, name), tried in self._passed.items():
            passed = [case for case, passes, is_large in tried if passes and is_large]
            if not passed and all(passes for _, passes, _ in tried):
                passed = [tried[0][0]]
            if passed:
                yield f"under this bound, {name} would pass for output {output}: these inputs prove nothing", passed[0]


def is_large(expected: Expected) -> bool:
    """Whether so many numbers agree with no imitation by chance."""
    return bool(expected.exact.size >= _LARGE)


def accepted_by(expected: Expected, other: np.ndarray | None) -> Iterator[str]:
    """Names of what passes although it is no result; `other` is the reference of other inputs."""
    exact = np.asarray(expected.exact, np.float64)
    finite = np.isfinite(exact)
    if not finite.any():
        return
    for name, wrong in _imitations(exact, finite, other):
        if wrong.shape == exact.shape and _passes(wrong, exact, expected.bound, finite):
            yield name


IMITATIONS = ZEROS, OTHER, MEAN, EXCHANGED, MISSING = (
    "zeros",
    "the result of other inputs",
    "the mean everywhere",
    "the largest and the smallest element exchanged",
    "the last eighth missing",
)


def _imitations(exact: np.ndarray, finite: np.ndarray, other: np.ndarray | None) -> Iterator[tuple[str, np.ndarray]]:
    yield ZEROS, np.zeros_like(exact)
    if other is not None:
        yield OTHER, np.asarray(other, np.float64)
    if exact.size < 2:
        return
    yield MEAN, np.full_like(exact, exact[finite].mean())
    flat = exact.reshape(-1)
    numbers = np.where(finite.reshape(-1), flat, 0.0)
    exchanged = flat.copy()
    largest, smallest = int(np.argmax(numbers)), int(np.argmin(numbers))
    exchanged[[largest, smallest]] = flat[[smallest, largest]]
    yield EXCHANGED, exchanged.reshape(exact.shape)
    missing = flat.copy()
    missing[-max(1, flat.size // 8) :] = 0.0
    yield MISSING, missing.reshape(exact.shape)


def _passes(wrong: np.ndarray, exact: np.ndarray, bound: np.ndarray, finite: np.ndarray) -> bool:
    return bool(np.all(np.abs(wrong[finite] - exact[finite]) <= bound[finite]))
