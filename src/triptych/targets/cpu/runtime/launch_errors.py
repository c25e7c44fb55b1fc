"""Launch errors: a launch that ended early, as the native pool describes it, becomes the exception of the call.

The cause is what a Python signal handler raised (Ctrl-C), or the first check that failed in a thread of the kernel.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from triptych.diagnostics.check_errors import tables, unpack
from triptych.diagnostics.kernel_errors import DeadlockError, MbarrierError
from triptych.sanitizer.pipeline_protocol import explained
from triptych.support.dataclass import dataclass
from triptych.support.errors import TriptychError
from triptych.support.forking import import_late
from triptych.support.source import Span
from triptych.targets.cpu.abi.abi import WAITING_ENTRY, WAITING_HEAD, LaunchRecord
from triptych.targets.cpu.calling.raising import check_error

# Deadlock reports: which warps wait for ever, for which barrier, and what it misses.

_PHASE_OFF = (
    "the `commit`, `release` or `arrive` that never comes, or the phase bit that is off by one; of a pipeline, "
    "`triptych check` says which call"
)

_UNWRITTEN = (
    "the store that the loop waits for, by a thread that comes to it; where that is one of another block, a launch "
    "whose blocks run at the same time: `launch(..., cooperative=True)`"
)


@dataclass(frozen=True, slots=True)
class WaitingWarp:
    """One entry. `parity` is -1 where a warp does not wait for an mbarrier; `tx` are bytes that are missing."""

    warp: int
    site: int
    parity: int
    offset: int
    pending: int
    expected: int
    tx: int
    rank: int

    @property
    def awaited(self) -> tuple[int, ...]:
        """What it waits for: the same for all warps that can be told of together."""
        return self.site, self.parity, self.offset, self.pending, self.expected, self.tx, self.rank


def waiting_spans(text: str, words: Sequence[int]) -> list[Span]:
    """Where warps wait."""
    sites = tables(text)["sites"]
    found = [sites[warp.site] for warp in _waiting(words)]
    return [Span(**span) for span in found if span is not None]


def _waiting(words: Sequence[int]) -> list[WaitingWarp]:
    starts = range(WAITING_HEAD, WAITING_HEAD + words[0] * WAITING_ENTRY, WAITING_ENTRY)
    return [WaitingWarp(*words[start : start + WAITING_ENTRY]) for start in starts]


def deadlock(text: str, words: Sequence[int]) -> DeadlockError:
    """The error of a launch that was stopped because nobody got on."""
    found = tables(text)
    spans = [None if span is None else Span(**span) for span in found["sites"]]
    partings: list[str] = found["partings"]
    names = {int(offset): name for offset, name in found["barriers"].items()}
    count, total, warps = words[0], words[4], _waiting(words)
    groups = [list(group) for _, group in groupby(sorted(warps, key=_order(warps)), lambda warp: warp.awaited)]
    groups.sort(key=lambda group: _urgency(group[0]))
    error = DeadlockError(**unpack(text))
    if not groups:
        return error
    first, *others = groups
    error.span = spans[first[0].site] or error.span
    error.found = f"{_who(first)} here{_what(first[0], names)}{partings[first[0].site]}"
    error.notes = [
        f"{_who(group)} {_where(group[0], spans)}{_what(group[0], names)}{partings[group[0].site]}" for group in others
    ]
    if total > count:
        ended = total - count
        error.notes.append(f"{_counted(ended, 'warp')} of {total} {'has' if ended == 1 else 'have'} ended")
    error.instead = _UNWRITTEN if found["looks"][first[0].site] and first[0].parity < 0 else _cause(first[0])
    return error


def _urgency(warp: WaitingWarp) -> int:
    """What says most comes first: bytes that do not fit, then some arrivals of several, then whoever just waits."""
    if warp.parity < 0:
        return 2
    if warp.tx and not warp.pending:
        return 0
    return 1 if warp.pending < warp.expected else 2


def _order(warps: Sequence[WaitingWarp]) -> Any:
    """Warps that wait for the same come together, in the order of the first of them."""
    seen = {warp.awaited: place for place, warp in reversed(list(enumerate(warps)))}
    return lambda warp: seen[warp.awaited]


def _who(group: Sequence[WaitingWarp]) -> str:
    numbers = [warp.warp for warp in group]
    block = f" of block {group[0].rank} of the cluster" if group[0].rank else ""
    if len(numbers) == 1:
        return f"warp {numbers[0]}{block} waits"
    if numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"warps {numbers[0]} to {numbers[-1]}{block} wait"
    return f"warps {', '.join(map(str, numbers))}{block} wait"


def _where(warp: WaitingWarp, spans: Sequence[Span | None]) -> str:
    span = spans[warp.site]
    return "elsewhere" if span is None else f"at line {span.line}"


def _what(warp: WaitingWarp, names: dict[int, str]) -> str:
    if warp.parity < 0:
        return ""
    called = names.get(warp.offset, "the mbarrier")
    name = called if " " in called else f"`{called}`"
    place = f"{name} (byte {warp.offset} of shared memory)"
    missing = []
    if warp.pending:
        missing.append(f"{warp.pending} of {_counted(warp.expected, 'arrival')}")
    if warp.tx > 0:
        missing.append(_counted(warp.tx, "byte"))
    alone = len(missing) == 1 and missing[0].startswith("1 ")
    said = f"{' and '.join(missing)} {'is' if alone else 'are'} missing" if missing else ""
    if warp.tx < 0:
        said += f"{' and ' if said else ''}{_counted(-warp.tx, 'byte')} more came than were expected"
    return f" for the phase of parity {warp.parity} of {place} to end: {said or 'the phase has just begun'}"


def _cause(warp: WaitingWarp) -> str:
    """What to look at first."""
    if warp.parity < 0:
        return "the number of threads that do arrive, or the missing `arrive` on the other path"
    if warp.tx < 0:
        return f"`tx_count` or `mbarrier_expect_tx` of all bytes that the copies bring, {-warp.tx} more than now"
    if warp.tx > 0 and not warp.pending:
        return (
            f"as many bytes in `tx_count` or `mbarrier_expect_tx` as the copies bring: {warp.tx} of them never came; "
            "or the copy that is missing, or goes to another barrier"
        )
    if warp.pending == warp.expected:
        return _PHASE_OFF
    return (
        f"a `CooperativeGroup` or a barrier of as many as arrive, {warp.expected - warp.pending} and not "
        f"{warp.expected}, or the "
        "threads that do not arrive; `PipelineTmaAsync` counts one arrival for each warp that releases"
    )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def stop_cause(address: int) -> BaseException:
    """Called by the pool: what the call that launched is to raise."""
    launch = LaunchRecord.from_address(address)
    if launch.exception:
        return _taken(launch.exception)
    error = _failed_check(launch)
    if not launch.last_stop:
        return error
    framed: BaseException = import_late("triptych.targets.cpu.debugger.frames").with_frames(address, error)
    return framed


def _failed_check(launch: LaunchRecord) -> BaseException:
    if launch.is_waiting and launch.name == DeadlockError.__name__.encode():
        return _explained(_deadlock(launch), waiting_spans(launch.text.decode(), list(launch.waiting)))
    error = check_error(launch.name, launch.text, notes=_place(launch.where, launch))
    return _explained(error) if isinstance(error, MbarrierError) else error


def _explained(error: TriptychError, waiting: Sequence[Span] = ()) -> TriptychError:
    """What is wrong with the calls of a pipeline says more than what is wrong with its barriers.

    That is one with a call at the line of the error, or where a warp waits; another one is told apart from it.
    """
    found, others = explained([*waiting, *([error.span] if error.span is not None else [])])
    if others.is_sure:
        error.notes.append(f"apart from this, about another pipeline: {others.text}")
    if found.text:
        error.notes[:0] = [f"or {error.instead}"] if error.instead and not found.is_sure else []
        error.instead = found.text
    return error


def _deadlock(launch: LaunchRecord) -> DeadlockError:
    words = list(launch.waiting)
    error = deadlock(launch.text.decode(), words)
    error.notes += _place((*words[1:4], launch.where[3]), launch)
    ranks = other_ranks()
    error.notes += [] if ranks is None else ranks.notes()
    left = launch.total - launch.next_block
    if left > 0 and launch.total > 1:
        error.notes.append(f"{left} of {launch.total} blocks have not begun, and no thread is free for them")
    return error


# Any: `Standstill`, which few programs load.
def other_ranks() -> Any:
    """What this process knows of other ranks, if it belongs to a group of several."""
    groups: Any = sys.modules.get("triptych.ranks.group")
    there = None if groups is None else groups.group()
    return None if there is None or there.size == 1 else import_late("triptych.ranks.standstill").standstill_of(there)


def _taken(reference: int) -> BaseException:
    """The exception that the record held, with its reference."""
    exception: BaseException = ctypes.cast(reference, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(exception))
    return exception


def _place(where: Sequence[int], launch: LaunchRecord) -> list[str]:
    x, y, z, thread = where
    if thread < 0:
        return []
    rows, column = divmod(thread, launch.block_x)
    plane, row = divmod(rows, launch.block_y)
    return [f"in block ({x}, {y}, {z}), thread ({column}, {row}, {plane})"]
