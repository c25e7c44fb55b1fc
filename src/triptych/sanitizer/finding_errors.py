"""Errors of the sanitizer: both lines, both accesses, and what to write."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from triptych.diagnostics.kernel_errors import AsyncAccessError
from triptych.diagnostics.runtime_errors import BackgroundReadError, CompiledCodeError
from triptych.sanitizer.findings import BOX_STORE, NOTES, Collection, Example, Finding, Kind, collector, common_lines
from triptych.support.errors import TriptychWarning
from triptych.support.source import Span


class RaceError(CompiledCodeError, RuntimeError):
    """Two threads access the same memory, one of them writes, and nothing orders the two (checker `races`)."""

    code = "TT0630"


class UninitialisedReadError(CompiledCodeError, RuntimeError):
    """Shared memory is read that no thread of the block has written (checker `init`)."""

    code = "TT0631"


class UnsetRegisterError(CompiledCodeError, RuntimeError):
    """A thread uses an element of a register tensor that it has not set (checker `init`)."""

    code = "TT0635"


class UnwrittenOutputError(CompiledCodeError, RuntimeError):
    """A kernel leaves a part of an output untouched, though its host says that it writes it (a note)."""

    code = "TT0636"


class AsyncCopyError(CompiledCodeError, RuntimeError):
    """What an asynchronous copy writes is accessed before it was waited for, or it never is (checker `races`)."""

    code = "TT0633"


class CheckerLimitError(CompiledCodeError, RuntimeError):
    """A checker has run out of numbers: what it says from there on would mean nothing."""

    code = "TT0632"


class ScheduleError(CompiledCodeError, RuntimeError):
    """What a program leaves behind depends on the order of blocks and warps, and no race was found."""

    code = "TT0638"


class SameValueWarning(TriptychWarning):
    """Several threads write the same value to one place, and nothing orders them."""


_ORDERED = "a barrier, a `sync_warp` or a release and an acquire between the two"
_BETWEEN_BLOCKS = (
    "blocks of a launch to leave each other's memory alone, or a release and an acquire of the same place in global "
    "memory, at the scope of the device, between the two"
)
_LAUNCHES = (
    "a place of its own for each block, an atomic operation, or two launches; to wait for another block: "
    '`atomic_*(..., sem="release", scope="gpu")` after one access and `sem="acquire"` before the other'
)
_NEVER = "every byte that is read to be written before, by a thread of the same block"
_WARP_NOTE = (
    "threads of one warp do not run in step: since Volta each has its own place in the program, "
    "and only `sync_warp` orders what they do in memory"
)
_PHASE_NOTE = (
    "an arrival at an mbarrier tells what its own thread has done and knows: where one lane arrives for its warp, "
    "`sync_warp` comes before it"
)


def error_of(finding: Finding) -> CompiledCodeError:
    """The error that a finding is; where a pipeline is not used as it should be, that is what to mend."""
    error = _error_of(finding)
    if finding.is_async_access:
        error = _async_access(error)
    if finding.other_pipelines.text:
        error.notes.append(f"apart from this, about the pipelines of {finding.kernel}: {finding.other_pipelines.text}")
    if not finding.explanation.text or finding.is_global or finding.kind in _OF_NO_PIPELINE:
        return error
    if finding.explanation.is_sure:
        error.notes.append(f"or {error.instead}")
        error.instead = finding.explanation.text
    else:
        error.notes.append(f"about the pipelines of {finding.kernel}, unless it is meant: {finding.explanation.text}")
    return error


def _async_access(error: CompiledCodeError) -> AsyncAccessError:
    """The same under the code of `async`."""
    return AsyncAccessError(
        error.title,
        span=error.span,
        found=error.found,
        expected=error.expected,
        instead=error.instead,
        notes=error.notes,
        related=error.related,
    )


_OF_NO_PIPELINE = (Kind.CLOCK_OVERFLOW, Kind.TOO_MANY_MBARRIERS, Kind.UNSET_REGISTER, Kind.NEVER_WRITTEN)


def _error_of(finding: Finding) -> CompiledCodeError:
    if finding.kind == Kind.CLOCK_OVERFLOW:
        return CheckerLimitError(
            "a block has more barriers than the checker can count",
            found=f"2**32 moments in one block of {finding.kernel}",
            expected="fewer",
        )
    if finding.kind == Kind.TOO_MANY_MBARRIERS:
        most = finding.examples[0].byte
        return CheckerLimitError(
            "a block, or a cluster, has more mbarriers than `races` and `init` tell apart",
            found=f"more than {most} mbarriers that are in use in {finding.kernel}",
            expected=f"at most {most} in a block, or in all blocks of a cluster together",
            instead="fewer stages while it is checked, or the other checkers alone: TRIPTYCH_DEBUG=bounds,async",
        )
    if finding.kind == Kind.UNINITIALISED:
        return _uninitialised(finding)
    if finding.kind == Kind.UNSET_REGISTER:
        return _unset(finding)
    if finding.kind == Kind.NEVER_WRITTEN:
        return _never_written(finding)
    if finding.kind in (Kind.BEFORE_IT_LANDS, Kind.NEVER_AWAITED):
        return _copy(finding)
    if finding.kind in (Kind.STILL_READ, Kind.NOT_FENCED):
        return _async_read(finding)
    return _race(finding)


def _copy(finding: Finding) -> AsyncCopyError:
    example = finding.examples[0]
    if finding.kind == Kind.NEVER_AWAITED:
        return AsyncCopyError(
            f"nobody waits for a copy that {_who(finding, example.current)} begins here",
            span=finding.current.span,
            found=_what(finding, example),
            expected="a wait for every group of copies before the kernel ends",
            instead=f"{_NEVER_AWAITED[finding.current.verb == BOX_STORE]} behind it",
            notes=_notes(finding),
            related=_callers(finding.current.spans[1:]),
        )
    if finding.previous.verb in _LANDINGS:
        return _landing(finding, example)
    begun = f"the copy that {_who(finding, example.previous)} began here may still be on its way"
    lines = common_lines(finding.previous, finding.current)
    where = f" between line {min(lines)} and line {max(lines)}" if lines is not None and lines[0] < lines[1] else ""
    return AsyncCopyError(
        f"{_who(finding, example.current)} {finding.current.verb} where an asynchronous copy has not landed",
        span=finding.current.span,
        found=_what(finding, example),
        expected="the thread that copies to wait for the group, and then a barrier for the other threads",
        instead=f"`cute.arch.cp_async_wait_group(0)` and `cute.arch.sync_threads()`{where or ' before this line'}",
        notes=_notes(finding),
        related=_both(finding, begun),
    )


_LANDINGS = ("begins to load a box", "begins to store")
_NEVER_AWAITED = (
    "`cute.arch.cp_async_commit_group()` and `cute.arch.cp_async_wait_group(0)`",
    "`cute.arch.cp_async_bulk_commit_group()` and `cute.arch.cp_async_bulk_wait_group(0)` by the same thread",
)


def _landing(finding: Finding, example: Example) -> AsyncCopyError:
    """An mbarrier says when a copy has landed, to those who wait for it."""
    begun = f"{_who(finding, example.previous)} {finding.previous.verb} here: nobody told the other that it has landed"
    return AsyncCopyError(
        f"{_who(finding, example.current)} {finding.current.verb} where a copy may not have landed",
        span=finding.current.span,
        found=_what(finding, example),
        expected="a wait for the phase of the mbarrier that counts the bytes, by this thread or before a barrier",
        instead="`mbarrier_wait(...)` of the copy's barrier, `consumer_wait` or `producer_acquire`, before this line",
        notes=_notes(finding),
        related=_both(finding, begun),
    )


def _async_read(finding: Finding) -> BackgroundReadError:
    """What a bulk store or a product reads is not to be seen by it yet, or not left alone until it has ended."""
    example = finding.examples[0]
    now, before = _who(finding, example.current), _who(finding, example.previous)
    if finding.kind == Kind.NOT_FENCED:
        return BackgroundReadError(
            f"{now} {finding.current.verb} that reads what {before} has written and not fenced",
            span=finding.current.span,
            found=_what(finding, example),
            expected="a fence by every thread that wrote, then a barrier, then the store or product",
            instead='`cute.arch.fence_proxy("async.shared", space="cta")` after the writes, before the barrier',
            notes=_notes(finding),
            related=_both(finding, f"{before} {finding.previous.verb} here"),
        )
    product = finding.previous.verb != BOX_STORE
    wait = "`warpgroup.wait_group(0)`" if product else "`cute.arch.cp_async_bulk_wait_group(0, read=True)`"
    return BackgroundReadError(
        f"{now} {finding.current.verb} where {'a product' if product else 'a bulk store'} under way may still read",
        span=finding.current.span,
        found=_what(finding, example),
        expected="the thread that began it to wait for its group, and then a barrier or an mbarrier for the others",
        instead=f"{wait} by {before}, and a barrier, before this line",
        notes=_notes(finding),
        related=_both(finding, f"{before} {finding.previous.verb} here"),
    )


def _both(finding: Finding, earlier: str) -> list[tuple[str, Span]]:
    """The callers of one side, the line of the other, its callers, and those that both have."""
    own, others, shared = _parted(finding.current.spans[1:], finding.previous.spans[1:])
    first = [(earlier, finding.previous.spans[0])]
    return [*_callers(own), *first, *_callers(others), *_callers(shared, "both called from")]


def _uninitialised(finding: Finding) -> UninitialisedReadError:
    example = finding.examples[0]
    return UninitialisedReadError(
        f"{_who(finding, example.current)} of block {_block(example)} reads shared memory that nobody has written",
        span=finding.current.span,
        found=_what(finding, example),
        expected=_NEVER,
        instead="a store to that element before, or a smaller range of what is read",
        notes=_notes(finding),
        related=_callers(finding.current.spans[1:]),
    )


def _element(example: Example) -> str:
    return example.part.partition(" of ")[0]


def _unset(finding: Finding) -> UnsetRegisterError:
    """The read, the allocation, and where the value matters."""
    example = finding.examples[0]
    name, allocated = finding.variable or "the tensor", example.allocated
    where = f", allocated at line {allocated.line}" if allocated is not None else ""
    times = "once" if finding.count == 1 else f"{finding.count:,} times"
    adds, multiplies = finding.previous.verb == "adds to", finding.previous.verb == "multiplies"
    does = f"{finding.previous.verb} it here{'' if adds or multiplies else f', and {finding.current.verb}'}"
    after = f" after line {allocated.line}" if allocated is not None else ""
    fill = f"`{name}.fill(0)`" if finding.variable else "`.fill(0)` of it"
    instead = f"{fill}{after}, or a store to that element on every way that leads here"
    if adds:
        instead = f"{fill} before the first `gemm`{after and f', {after.strip()}'}"
    elif multiplies:
        instead = f"a copy into `{name}`, or a load of it, before the product" if finding.variable else "a copy into it"
    elsewhere = finding.current.spans[:1] != finding.previous.spans[:1]
    later = [(finding.current.verb, finding.current.spans[0])] if elsewhere and finding.current.spans else []
    made = [("the tensor is made here", allocated)] if allocated is not None else []
    return UnsetRegisterError(
        f"{_who(finding, example.current)} of block {_block(example)} uses registers that it has not set",
        span=finding.previous.span,
        found=f"{example.part}{where}: the thread {does}; seen {times}",
        expected="every element to be written by the thread that uses it, on the way that it takes",
        instead=instead,
        notes=_notes(finding),
        related=[*made, *later, *_callers(finding.previous.spans[1:])],
    )


def _never_written(finding: Finding) -> UnwrittenOutputError:
    """An output whose host says that the kernel writes it."""
    return UnwrittenOutputError(
        f"{finding.kernel} leaves a part of its output {finding.variable} as it was",
        span=finding.current.span,
        found=finding.examples[0].part,
        expected="every element of an output to be written",
        instead="a grid that covers the output, as `cute.ceil_div(n, block)`, and no branch that skips its end",
    )


_TITLES = {
    Kind.READ_AFTER_WRITE: "{now} reads what {before} writes, and nothing orders the two",
    Kind.WRITE_AFTER_READ: "{now} overwrites what {before} reads, and nothing orders the two",
    Kind.WRITE_AFTER_WRITE: "{now} and {before} write to the same place, and nothing orders the two",
    Kind.SAME_VALUE: "{now} and {before} write the same value to the same place, and nothing orders the two",
}


def _race(finding: Finding) -> RaceError:
    example = finding.examples[0]
    now, before = _who(finding, example.current), _who(finding, example.previous)
    if example.other is not None:
        now, before = f"{now} of block {_block(example)}", f"{before} of {_other(example)}"
    title = _TITLES[Kind(finding.kind)].format(now=now, before=before)
    earlier = f"the earlier access: {before} {finding.previous.verb} here"
    return RaceError(
        f"a race in {finding.kernel}: {title}",
        span=finding.current.span,
        found=_what(finding, example),
        expected=_ORDERED if example.other is None else _BETWEEN_BLOCKS,
        instead=_advice(finding) if example.other is None else _LAUNCHES,
        notes=_notes(finding),
        related=_both(finding, earlier),
    )


def _parted(one: Sequence[Span], other: Sequence[Span]) -> tuple[Sequence[Span], Sequence[Span], Sequence[Span]]:
    """What only the first chain of calls has, what only the other has, and the end that they share."""
    same = 0
    while same < min(len(one), len(other)) and one[-1 - same] == other[-1 - same]:
        same += 1
    return one[: len(one) - same], other[: len(other) - same], one[len(one) - same :]


def _callers(spans: Sequence[Span], label: str = "called from") -> list[tuple[str, Span]]:
    return [(label, span) for span in spans]


def _who(finding: Finding, thread: int) -> str:
    if not finding.block_threads:
        return f"thread {thread}"
    rank, number = divmod(thread, finding.block_threads)
    return f"thread {number} of block {rank} of the cluster"


def _are_of_two_blocks(finding: Finding, example: Example) -> bool:
    """Whether the threads are of different blocks of a cluster."""
    size = finding.block_threads
    return bool(size) and example.previous // size != example.current // size


def _other(example: Example) -> str:
    return f"block ({', '.join(map(str, example.other))})" if example.other else "several blocks"


def _block(example: Example) -> str:
    return f"({', '.join(map(str, example.block))})"


def _what(finding: Finding, example: Example) -> str:
    """The object: which allocation, which element, in which block and epoch, how often."""
    size = finding.current.size
    where = f"byte {example.byte} of shared memory"
    if finding.is_global:
        where = "global memory"
    elif example.part:
        line = f", allocated at line {example.allocated.line}" if example.allocated is not None else ""
        where = f"{example.part}{line}"
    times = "once" if finding.count == 1 else f"{finding.count:,} times"
    passed = "before the first barrier" if not example.epoch else f"after barrier {example.epoch} of the block"
    extent = "" if finding.current.is_asynchronous else f" {size} byte{'s' if size > 1 else ''}"
    access = f"{finding.current.verb}{extent}"
    return f"{access}, {where}, in block {_block(example)}, {passed}; seen {times}"


def _notes(finding: Finding) -> list[str]:
    notes = []
    if len(finding.examples) > 1:
        seen = [_pair(each) for each in finding.examples[1:]]
        if finding.kind == Kind.UNSET_REGISTER:
            seen = [f"thread {each.current} of block {_block(each)}, {_element(each)}" for each in finding.examples[1:]]
        elif finding.kind in (Kind.UNINITIALISED, Kind.NEVER_AWAITED):
            seen = [f"thread {each.current} of block {_block(each)}, byte {each.byte}" for each in finding.examples[1:]]
        notes.append(f"also seen: {'; '.join(seen)}")
    if finding.in_one_warp and finding.is_race:
        notes.append(_WARP_NOTE)
    if finding.has_phases and (finding.is_race or finding.kind == Kind.STILL_READ):
        notes.append(_PHASE_NOTE)
    return notes


def _pair(example: Example) -> str:
    if example.other is None:
        return f"threads {example.previous} and {example.current} of block {_block(example)}"
    return f"thread {example.previous} of {_other(example)} and thread {example.current} of block {_block(example)}"


def _advice(finding: Finding) -> str:
    """Where a barrier is missing, by the lines of both accesses in the function that they share."""
    call = "`cute.arch.sync_warp()`" if finding.in_one_warp else "`cute.arch.sync_threads()`"
    if any(_are_of_two_blocks(finding, each) for each in finding.examples):
        call = "`cute.arch.cluster_arrive()` and `cute.arch.cluster_wait()`"
    lines = common_lines(finding.previous, finding.current)
    if lines is None:
        return f"{call} between the two accesses"
    before, now = lines
    if finding.kind == Kind.SAME_VALUE or before == now:
        if finding.previous.spans == finding.current.spans and finding.kind in (
            Kind.WRITE_AFTER_WRITE,
            Kind.SAME_VALUE,
        ):
            return f"line {now} for one thread only, as `if tidx == 0:`, or a place of its own for each thread"
        return f"{call} between the two accesses of line {now}: where it is in a loop, before the loop goes on"
    if before < now or not finding.in_a_loop():
        return f"{call} between line {min(lines)} and line {max(lines)}"
    return f"{call} after line {before}, before line {now} runs again"


def report(findings: Sequence[Finding]) -> None:
    """Pass findings on to whoever collects; otherwise raise the worst, with the others as notes. A note alone warns."""
    taken = collector()
    if taken is not None:
        taken.add(findings)
        return
    here = Collection()
    here.add(findings)
    for finding in here.findings:
        if finding.kind in NOTES:
            warnings.warn(error_of(finding).text(), SameValueWarning, stacklevel=2)
    if not here.faults:
        return
    worst, *others = [error_of(finding) for finding in here.faults]
    worst.notes += [f"another finding: {other.text()}" for other in others]
    raise worst
