"""Errors of the sanitizer: both lines, both accesses, and what to write."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from triptych.diagnostics.kernel_errors import AsyncAccessError, ClusterError
from triptych.diagnostics.runtime_errors import BackgroundReadError, CompiledCodeError
from triptych.sanitizer.finding_text import (
    advice,
    are_of_two_blocks,
    block_text,
    both_places,
    callers,
    notes_of,
    other_block,
    what_was_found,
    who,
)
from triptych.sanitizer.findings import (
    BOX_STORE,
    CLUSTER_REQUEST,
    NOTES,
    SCALE_COPY,
    TENSOR_PRODUCT,
    Collection,
    Example,
    Finding,
    Kind,
    collector,
    common_lines,
)
from triptych.support.errors import TriptychWarning


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
    """What an asynchronous copy or product writes is accessed before it was waited for, or never is (`races`)."""

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
    if finding.in_tensor_memory:
        return _of_tensor_memory(finding)
    if finding.kind == Kind.UNINITIALISED:
        return _uninitialised(finding)
    if finding.kind == Kind.UNSET_REGISTER:
        return _unset(finding)
    if finding.kind == Kind.NEVER_WRITTEN:
        return _never_written(finding)
    if finding.kind == Kind.ASKED_AGAIN:
        return _asked_again(finding)
    if finding.kind in (Kind.BEFORE_IT_LANDS, Kind.NEVER_AWAITED):
        return _copy(finding)
    if finding.kind in (Kind.STILL_READ, Kind.NOT_FENCED):
        return _async_read(finding)
    return _race(finding)


def _copy(finding: Finding) -> AsyncCopyError:
    example = finding.examples[0]
    if finding.kind == Kind.NEVER_AWAITED:
        return AsyncCopyError(
            f"nobody waits for a copy that {who(finding, example.current)} begins here",
            span=finding.current.span,
            found=what_was_found(finding, example),
            expected="a wait for every group of copies before the kernel ends",
            instead=f"{_NEVER_AWAITED[finding.current.verb == BOX_STORE]} behind it",
            notes=notes_of(finding),
            related=callers(finding.current.spans[1:]),
        )
    if finding.previous.verb in _LANDINGS:
        return _landing(finding, example)
    begun = f"the copy that {who(finding, example.previous)} began here may still be on its way"
    lines = common_lines(finding.previous, finding.current)
    where = f" between line {min(lines)} and line {max(lines)}" if lines is not None and lines[0] < lines[1] else ""
    return AsyncCopyError(
        f"{who(finding, example.current)} {finding.current.verb} where an asynchronous copy has not landed",
        span=finding.current.span,
        found=what_was_found(finding, example),
        expected="the thread that copies to wait for the group, and then a barrier for the other threads",
        instead=f"`cute.arch.cp_async_wait_group(0)` and `cute.arch.sync_threads()`{where or ' before this line'}",
        notes=notes_of(finding),
        related=both_places(finding, begun),
    )


_LANDINGS = ("begins to load a box", "begins to store", CLUSTER_REQUEST)
_NEVER_AWAITED = (
    "`cute.arch.cp_async_commit_group()` and `cute.arch.cp_async_wait_group(0)`",
    "`cute.arch.cp_async_bulk_commit_group()` and `cute.arch.cp_async_bulk_wait_group(0)` by the same thread",
)


def _landing(finding: Finding, example: Example) -> AsyncCopyError:
    """An mbarrier says when a copy has landed, to those who wait for it."""
    begun = f"{who(finding, example.previous)} {finding.previous.verb} here: nobody told the other that it has landed"
    what = "the answer of launch control may not have come"
    if finding.previous.verb != CLUSTER_REQUEST:
        what = "a copy may not have landed"
    return AsyncCopyError(
        f"{who(finding, example.current)} {finding.current.verb} where {what}",
        span=finding.current.span,
        found=what_was_found(finding, example),
        expected="a wait for the phase of the mbarrier that counts the bytes, by this thread or before a barrier",
        instead="`mbarrier_wait(...)` of the copy's barrier, `consumer_wait` or `producer_acquire`, before this line",
        notes=notes_of(finding),
        related=both_places(finding, begun),
    )


def _asked_again(finding: Finding) -> ClusterError:
    """Launch control has said that nothing is left."""
    example = finding.examples[0]
    return ClusterError(
        f"{who(finding, example.current)} asks for another cluster after it has been refused one",
        span=finding.current.span,
        found=what_was_found(finding, example),
        expected="no question after an answer without a cluster: what a GPU does then is undefined",
        instead="a loop that ends with the first answer whose `is_valid_tile` is False",
        notes=notes_of(finding),
        related=both_places(finding, "the question that was refused"),
    )


_TENSOR_READS = {TENSOR_PRODUCT: "product", SCALE_COPY: "copy of scales"}


def _async_read(finding: Finding) -> BackgroundReadError:
    """What a bulk store or a product reads is not to be seen by it yet, or not left alone until it has ended."""
    example = finding.examples[0]
    now, before = who(finding, example.current), who(finding, example.previous)
    if finding.kind == Kind.NOT_FENCED:
        return BackgroundReadError(
            f"{now} {finding.current.verb} that reads what {before} has written and not fenced",
            span=finding.current.span,
            found=what_was_found(finding, example),
            expected="a fence by every thread that wrote, then a barrier, then the store or product",
            instead='`cute.arch.fence_proxy("async.shared", space="cta")` after the writes, before the barrier',
            notes=notes_of(finding),
            related=both_places(finding, f"{before} {finding.previous.verb} here"),
        )
    if finding.previous.verb in _TENSOR_READS:
        what = _TENSOR_READS[finding.previous.verb]
        return BackgroundReadError(
            f"{now} {finding.current.verb} where a {what} under way may still read",
            span=finding.current.span,
            found=what_was_found(finding, example),
            expected=f"a wait for the mbarrier that a commit behind the {what} arrives on",
            instead=f"`producer_acquire` of the stage before this line, and `consumer_release` behind the {what}",
            notes=notes_of(finding),
            related=both_places(finding, f"{before} {finding.previous.verb} here"),
        )
    product = finding.previous.verb != BOX_STORE
    wait = "`warpgroup.wait_group(0)`" if product else "`cute.arch.cp_async_bulk_wait_group(0, read=True)`"
    return BackgroundReadError(
        f"{now} {finding.current.verb} where {'a product' if product else 'a bulk store'} under way may still read",
        span=finding.current.span,
        found=what_was_found(finding, example),
        expected="the thread that began it to wait for its group, and then a barrier or an mbarrier for the others",
        instead=f"{wait} by {before}, and a barrier, before this line",
        notes=notes_of(finding),
        related=both_places(finding, f"{before} {finding.previous.verb} here"),
    )


def _uninitialised(finding: Finding) -> UninitialisedReadError:
    example = finding.examples[0]
    return UninitialisedReadError(
        f"{who(finding, example.current)} of block {block_text(example)} reads shared memory that nobody has written",
        span=finding.current.span,
        found=what_was_found(finding, example),
        expected=_NEVER,
        instead="a store to that element before, or a smaller range of what is read",
        notes=notes_of(finding),
        related=callers(finding.current.spans[1:]),
    )


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
        f"{who(finding, example.current)} of block {block_text(example)} uses registers that it has not set",
        span=finding.previous.span,
        found=f"{example.part}{where}: the thread {does}; seen {times}",
        expected="every element to be written by the thread that uses it, on the way that it takes",
        instead=instead,
        notes=notes_of(finding),
        related=[*made, *later, *callers(finding.previous.spans[1:])],
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


# tensor memory ------------------------------------------------------------------------------------------------------
_AWAITED = "a wait for the mbarrier that a commit behind the product arrives on, by this thread or before a barrier"
_STORED = "the warp that stores to wait for its stores, and then to tell the others"
_ACQUIRED = (
    "`consumer_wait` of the pipeline whose `producer_commit` is behind the product, or `mbarrier_wait` of the barrier "
    "of its commit, before this line"
)
_STORE_FENCE = "`cute.arch.fence_view_async_tmem_store()` by that warp, and a barrier or an mbarrier, before this line"
_LOAD_FENCE = (
    "`cute.arch.fence_view_async_tmem_load()` behind the load and before `consumer_release`, and `producer_acquire` "
    "before this line"
)
_PAIR_BARRIER = (
    "`TmemAllocator(..., is_two_cta=True, two_cta_tmem_dealloc_mbar_ptr=...)`, whose `free` waits for the pair"
)


def _of_tensor_memory(finding: Finding) -> CompiledCodeError:
    example = finding.examples[0]
    now, before = who(finding, example.current), who(finding, example.previous)
    by_product = finding.previous.verb in _TENSOR_READS
    earlier = f"{before} {finding.previous.verb} here"
    does = finding.current.verb
    facts: tuple[type[CompiledCodeError], str, str]
    if finding.kind == Kind.BEFORE_IT_LANDS:
        what = _TENSOR_READS.get(finding.previous.verb, "store")
        other = f"a {what} may not be complete" if by_product else f"a store of {before} may not be complete"
        facts = (AsyncCopyError, f"{now} {does} where {other}", _AWAITED if by_product else _STORED)
        instead = _ACQUIRED if by_product else _STORE_FENCE
    elif finding.kind == Kind.STILL_READ:
        title = f"{now} {does} where {'a product may still read' if by_product else f'{before} may still load'}"
        expected = "the warp that loads to wait for its loads, and then to tell whoever writes the columns again"
        facts = (BackgroundReadError, title, _AWAITED if by_product else expected)
        instead = _ACQUIRED if by_product else _LOAD_FENCE
    elif finding.kind == Kind.UNINITIALISED:
        adds = does == TENSOR_PRODUCT
        title = f"{now} {does}{' that adds to' if adds else ''} columns that nobody has written"
        facts = (UninitialisedReadError, title, "a product or a store into these columns since they were taken")
        instead = "`ACCUMULATE` False for the first product" if adds else "a product into all columns that are loaded"
        earlier = ""
    elif finding.kind == Kind.MISSING_SCALES:
        title = f"{now} {does} with scales in columns that nobody has written"
        facts = (UninitialisedReadError, title, "scales in all four quarters of the lanes: each reads its own")
        instead = "a copy of the scales by `tcgen05.Cp4x32x128bOp`, or a store of the same ones by each of four warps"
        earlier = ""
    else:
        title = f"a race in {finding.kernel}: {now} {does} that {before} loads, and nothing orders the two"
        facts = (RaceError, title, "every warp that loads the columns to meet the one that gives them back")
        instead = _PAIR_BARRIER if are_of_two_blocks(finding, example) else advice(finding)
    error, title, expected = facts
    return error(
        title,
        span=finding.current.span,
        found=what_was_found(finding, example),
        expected=expected,
        instead=instead,
        notes=notes_of(finding),
        related=both_places(finding, earlier) if earlier else callers(finding.current.spans[1:]),
    )


_TITLES = {
    Kind.READ_AFTER_WRITE: "{now} reads what {before} writes, and nothing orders the two",
    Kind.WRITE_AFTER_READ: "{now} overwrites what {before} reads, and nothing orders the two",
    Kind.WRITE_AFTER_WRITE: "{now} and {before} write to the same place, and nothing orders the two",
    Kind.SAME_VALUE: "{now} and {before} write the same value to the same place, and nothing orders the two",
}


def _race(finding: Finding) -> RaceError:
    example = finding.examples[0]
    now, before = who(finding, example.current), who(finding, example.previous)
    if example.other is not None:
        now, before = f"{now} of block {block_text(example)}", f"{before} of {other_block(example)}"
    title = _TITLES[Kind(finding.kind)].format(now=now, before=before)
    earlier = f"the earlier access: {before} {finding.previous.verb} here"
    return RaceError(
        f"a race in {finding.kernel}: {title}",
        span=finding.current.span,
        found=what_was_found(finding, example),
        expected=_ORDERED if example.other is None else _BETWEEN_BLOCKS,
        instead=advice(finding) if example.other is None else _LAUNCHES,
        notes=notes_of(finding),
        related=both_places(finding, earlier),
    )


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
