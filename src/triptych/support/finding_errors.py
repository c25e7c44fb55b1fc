"""Errors that checkers raise, and what each says: both lines, who, what, and what to write."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from triptych.support.findings import Collection, Example, Finding, Kind, Site, collector
from triptych.support.runtime_errors import CompiledCodeError
from triptych.support.source import Span
from triptych.support.warnings import TriptychWarning

_RACE = """
from triptych import cute
from triptych.support.config import override

@tt.kernel
def shifts(out: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    kept = cute.arch.alloc_smem(tt.Float32, 64)
    values = cute.make_tensor(kept, cute.make_layout(64))
    values[tidx] = tt.Float32(tidx)
    {barrier}
    out[tidx] = values[63 - tidx]

@tt.jit
def run(out: cute.Tensor):
    shifts(out).launch(grid=1, block=64)

import numpy as np
with override(debug="races"):
    run(np.zeros(64, np.float32))
"""
_INIT = _RACE.replace('"races"', '"init"').replace("values[63 - tidx]", "values[{place}]").replace("64)", "128)", 1)


class RaceError(CompiledCodeError, RuntimeError):
    """Two threads access the same memory, one of them writes, and nothing orders the two (checker `races`)."""

    code = "TT0630"
    failing = _RACE.format(barrier="pass")
    fixed = _RACE.format(barrier="cute.arch.sync_threads()")


class UninitialisedReadError(CompiledCodeError, RuntimeError):
    """Shared memory is read that no thread of the block has written (checker `init`)."""

    code = "TT0631"
    failing = _INIT.format(barrier="cute.arch.sync_threads()", place="tidx + 1")
    fixed = _INIT.format(barrier="cute.arch.sync_threads()", place="63 - tidx")


_COPY = """
from triptych import cute
from triptych.cute.nvgpu import cpasync
from triptych.support.config import override

@tt.kernel
def copies(x: cute.Tensor, out: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    kept = cute.make_tensor(cute.arch.alloc_smem(tt.Float32, 32), cute.make_layout(32))
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), tt.Float32, num_bits_per_copy=32)
    cute.copy(atom, cute.local_tile(x, (1,), (tidx,)), cute.local_tile(kept, (1,), (tidx,)))
    cute.arch.cp_async_commit_group()
    {wait}
    out[tidx] = kept[tidx]

@tt.jit
def run(x: cute.Tensor, out: cute.Tensor):
    copies(x, out).launch(grid=1, block=32)

import numpy as np
with override(debug="races"):
    run(np.ones(32, np.float32), np.zeros(32, np.float32))
"""


class AsyncCopyError(CompiledCodeError, RuntimeError):
    """What an asynchronous copy writes is accessed before it was waited for, or it never is (checker `races`)."""

    code = "TT0633"
    failing = _COPY.format(wait="pass")
    fixed = _COPY.format(wait="cute.arch.cp_async_wait_group(0)")


class CheckerLimitError(CompiledCodeError, RuntimeError):
    """A checker has run out of numbers: what it says from there on would mean nothing."""

    code = "TT0632"
    failing = "# a kernel of 4,000,000,000 barriers in one block, under TRIPTYCH_DEBUG=races"
    fixed = "# the same kernel without TRIPTYCH_DEBUG"


class SameValueWarning(TriptychWarning):
    """Several threads write the same value to one place, and nothing orders them."""


_ORDERED = "a barrier, a `sync_warp` or a release and an acquire between the two"
_NEVER = "every byte that is read to be written before, by a thread of the same block"
_WARP_NOTE = (
    "threads of one warp do not run in step: since Volta each has its own place in the program, "
    "and only `sync_warp` orders what they do in memory"
)


def error_of(finding: Finding) -> CompiledCodeError:
    """The error that a finding is."""
    if finding.kind == Kind.CLOCK_RAN_OUT:
        return CheckerLimitError(
            "a block has more barriers than the checker can count",
            found=f"2**32 moments in one block of {finding.kernel}",
            expected="fewer",
        )
    if finding.kind == Kind.UNINITIALISED:
        return _uninitialised(finding)
    if finding.kind in (Kind.BEFORE_IT_LANDS, Kind.NEVER_AWAITED):
        return _copy(finding)
    return _race(finding)


def _copy(finding: Finding) -> AsyncCopyError:
    example = finding.examples[0]
    if finding.kind == Kind.NEVER_AWAITED:
        return AsyncCopyError(
            f"nobody waits for a copy that {_who(example.now)} begins here",
            span=finding.now.span,
            found=_what(finding, example),
            expected="a wait for every group of copies before the kernel ends",
            instead="`cute.arch.cp_async_commit_group()` and `cute.arch.cp_async_wait_group(0)` behind it",
            notes=_notes(finding),
            related=_callers(finding.now.spans[1:]),
        )
    own, others, shared = _parted(finding.now.spans[1:], finding.before.spans[1:])
    begun = [(f"the copy that {_who(example.before)} began here may still be on its way", finding.before.spans[0])]
    lines = _common_lines(finding.before, finding.now)
    where = f" between line {min(lines)} and line {max(lines)}" if lines is not None and lines[0] < lines[1] else ""
    return AsyncCopyError(
        f"{_who(example.now)} {finding.now.verb} where an asynchronous copy has not landed",
        span=finding.now.span,
        found=_what(finding, example),
        expected="the thread that copies to wait for the group, and then a barrier for the other threads",
        instead=f"`cute.arch.cp_async_wait_group(0)` and `cute.arch.sync_threads()`{where or ' before this line'}",
        notes=_notes(finding),
        related=[*_callers(own), *begun, *_callers(others), *_callers(shared, "both called from")],
    )


def _uninitialised(finding: Finding) -> UninitialisedReadError:
    example = finding.examples[0]
    return UninitialisedReadError(
        f"{_who(example.now)} of block {_block(example)} reads shared memory that nobody has written",
        span=finding.now.span,
        found=_what(finding, example),
        expected=_NEVER,
        instead="a store to that element before, or a smaller range of what is read",
        notes=_notes(finding),
        related=_callers(finding.now.spans[1:]),
    )


_TITLES = {
    Kind.READ_AFTER_WRITE: "{now} reads what {before} writes, and nothing orders the two",
    Kind.WRITE_AFTER_READ: "{now} overwrites what {before} reads, and nothing orders the two",
    Kind.WRITE_AFTER_WRITE: "{now} and {before} write to the same place, and nothing orders the two",
    Kind.SAME_VALUE: "{now} and {before} write the same value to the same place, and nothing orders the two",
}


def _race(finding: Finding) -> RaceError:
    example = finding.examples[0]
    title = _TITLES[Kind(finding.kind)].format(now=_who(example.now), before=_who(example.before))
    own, others, shared = _parted(finding.now.spans[1:], finding.before.spans[1:])
    earlier = [(f"the earlier access: {_who(example.before)} {finding.before.verb} here", finding.before.spans[0])]
    return RaceError(
        f"a race in {finding.kernel}: {title}",
        span=finding.now.span,
        found=_what(finding, example),
        expected=_ORDERED,
        instead=_advice(finding),
        notes=_notes(finding),
        related=[*_callers(own), *earlier, *_callers(others), *_callers(shared, "both called from")],
    )


def _parted(one: Sequence[Span], other: Sequence[Span]) -> tuple[Sequence[Span], Sequence[Span], Sequence[Span]]:
    """What only the first chain of calls has, what only the other has, and the end that they share."""
    same = 0
    while same < min(len(one), len(other)) and one[-1 - same] == other[-1 - same]:
        same += 1
    return one[: len(one) - same], other[: len(other) - same], one[len(one) - same :]


def _callers(spans: Sequence[Span], label: str = "called from") -> list[tuple[str, Span]]:
    return [(label, span) for span in spans]


def _who(thread: int) -> str:
    return f"thread {thread}"


def _block(example: Example) -> str:
    return f"({', '.join(map(str, example.block))})"


def _what(finding: Finding, example: Example) -> str:
    """The object: which allocation, which element, in which block and epoch, how often."""
    size = finding.now.size
    where = f"byte {example.byte} of shared memory"
    if example.part:
        line = f", allocated at line {example.allocated.line}" if example.allocated is not None else ""
        where = f"{example.part}{line}"
    times = "once" if finding.count == 1 else f"{finding.count:,} times"
    passed = "before the first barrier" if not example.epoch else f"after barrier {example.epoch} of the block"
    access = f"{finding.now.verb} {size} byte{'s' if size > 1 else ''}"
    return f"{access}, {where}, in block {_block(example)}, {passed}; seen {times}"


def _notes(finding: Finding) -> list[str]:
    notes = []
    if len(finding.examples) > 1:
        seen = [f"threads {each.before} and {each.now} of block {_block(each)}" for each in finding.examples[1:]]
        if finding.kind in (Kind.UNINITIALISED, Kind.NEVER_AWAITED):
            seen = [f"thread {each.now} of block {_block(each)}, byte {each.byte}" for each in finding.examples[1:]]
        notes.append(f"also seen: {'; '.join(seen)}")
    if finding.in_one_warp and finding.is_race:
        notes.append(_WARP_NOTE)
    return notes


def _advice(finding: Finding) -> str:
    """Where a barrier is missing, by the lines of both accesses in the function that they share."""
    call = "`cute.arch.sync_warp()`" if finding.in_one_warp else "`cute.arch.sync_threads()`"
    lines = _common_lines(finding.before, finding.now)
    if lines is None:
        return f"{call} between the two accesses"
    before, now = lines
    if finding.kind == Kind.SAME_VALUE or before == now:
        if finding.before.spans == finding.now.spans and finding.kind in (Kind.WRITE_AFTER_WRITE, Kind.SAME_VALUE):
            return f"line {now} for one thread only, as `if tidx == 0:`, or a place of its own for each thread"
        return f"{call} between the two accesses of line {now}: where it is in a loop, before the loop goes on"
    if before < now or not finding.in_a_loop():
        return f"{call} between line {min(lines)} and line {max(lines)}"
    return f"{call} after line {before}, before line {now} runs again"


def _common_lines(before: Site, now: Site) -> tuple[int, int] | None:
    """The lines of both accesses, or of the calls that lead to them, in the innermost function that has both."""
    for one in before.spans:
        for other in now.spans:
            if (one.file, one.function) == (other.file, other.function):
                return one.line, other.line
    return None


def report(findings: Sequence[Finding]) -> None:
    """Tell whoever collects; otherwise raise the worst, with the others as notes. A note alone is a warning."""
    taken = collector()
    if taken is not None:
        taken.add(findings)
        return
    here = Collection()
    here.add(findings)
    for finding in here.findings:
        if finding.kind == Kind.SAME_VALUE:
            warnings.warn(error_of(finding).text(), SameValueWarning, stacklevel=2)
    if not here.faults:
        return
    worst, *others = [error_of(finding) for finding in here.faults]
    worst.notes += [f"another finding: {other.text()}" for other in others]
    raise worst
