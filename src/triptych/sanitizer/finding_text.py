"""Sanitizer findings as text: who, where, which element, how often, and where a barrier is missing."""

from __future__ import annotations

from collections.abc import Sequence

from triptych.sanitizer.findings import Example, Finding, Kind, common_lines
from triptych.support.source import Span

_WARP_NOTE = (
    "threads of one warp do not run in step: since Volta each has its own place in the program, "
    "and only `sync_warp` orders what they do in memory"
)
_PHASE_NOTE = (
    "an arrival at an mbarrier tells what its own thread has done and knows: where one lane arrives for its warp, "
    "`sync_warp` comes before it"
)


def both_places(finding: Finding, earlier: str) -> list[tuple[str, Span]]:
    """The callers of one side, the line of the other, its callers, and those that both have."""
    own, others, shared = _parted(finding.current.spans[1:], finding.previous.spans[1:])
    first = [(earlier, finding.previous.spans[0])]
    return [*callers(own), *first, *callers(others), *callers(shared, "both called from")]


def _parted(one: Sequence[Span], other: Sequence[Span]) -> tuple[Sequence[Span], Sequence[Span], Sequence[Span]]:
    """What only the first chain of calls has, what only the other has, and the end that they share."""
    same = 0
    while same < min(len(one), len(other)) and one[-1 - same] == other[-1 - same]:
        same += 1
    return one[: len(one) - same], other[: len(other) - same], one[len(one) - same :]


def callers(spans: Sequence[Span], label: str = "called from") -> list[tuple[str, Span]]:
    return [(label, span) for span in spans]


def who(finding: Finding, thread: int) -> str:
    if not finding.block_threads:
        return f"thread {thread}"
    rank, number = divmod(thread, finding.block_threads)
    return f"thread {number} of block {rank} of the cluster"


def are_of_two_blocks(finding: Finding, example: Example) -> bool:
    """Whether the threads are of different blocks of a cluster."""
    size = finding.block_threads
    return bool(size) and example.previous // size != example.current // size


def other_block(example: Example) -> str:
    return f"block ({', '.join(map(str, example.other))})" if example.other else "several blocks"


def block_text(example: Example) -> str:
    return f"({', '.join(map(str, example.block))})"


def what_was_found(finding: Finding, example: Example) -> str:
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
    return f"{access}, {where}, in block {block_text(example)}, {passed}; seen {times}"


def notes_of(finding: Finding) -> list[str]:
    notes = []
    if len(finding.examples) > 1:
        seen = [_pair(each) for each in finding.examples[1:]]
        if finding.kind == Kind.UNSET_REGISTER:
            seen = [
                f"thread {each.current} of block {block_text(each)}, {_element(each)}" for each in finding.examples[1:]
            ]
        elif finding.kind in (Kind.UNINITIALISED, Kind.NEVER_AWAITED):
            seen = [
                f"thread {each.current} of block {block_text(each)}, byte {each.byte}" for each in finding.examples[1:]
            ]
        notes.append(f"also seen: {'; '.join(seen)}")
    if finding.in_one_warp and finding.is_race:
        notes.append(_WARP_NOTE)
    if finding.has_phases and (finding.is_race or finding.kind == Kind.STILL_READ):
        notes.append(_PHASE_NOTE)
    return notes


def _pair(example: Example) -> str:
    if example.other is None:
        return f"threads {example.previous} and {example.current} of block {block_text(example)}"
    here = f"thread {example.current} of block {block_text(example)}"
    return f"thread {example.previous} of {other_block(example)} and {here}"


def advice(finding: Finding) -> str:
    """Where a barrier is missing, by the lines of both accesses in the function that they share."""
    call = "`cute.arch.sync_warp()`" if finding.in_one_warp else "`cute.arch.sync_threads()`"
    if any(are_of_two_blocks(finding, each) for each in finding.examples):
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


def _element(example: Example) -> str:
    return example.part.partition(" of ")[0]
