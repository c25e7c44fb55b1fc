"""What could be better about a kernel, in sentences, the dearest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from triptych.ptxsim.counting import CountedLaunch
from triptych.workbench.costs.lines import LineCosts

_MUCH_UNUSED = 0.75
"""Of the bytes that move, below which a line is told of."""
_FEW_LANES = 0.75
_SMALL = 0.02
"""Of all steps of a kernel: of lines below it is not told how their threads part."""
_NOT_COUNTED = "what bulk copies move and what products of warpgroups read of shared memory is not counted"


def remarks(launch: CountedLaunch, costs: Sequence[LineCosts]) -> list[str]:
    """Sentences, each with its line."""
    ordered = sorted((each for each in costs if each.line is not None), key=lambda each: -each.steps)
    all_steps = sum(each.steps for each in costs)
    found = [text for each in ordered for text in _of_line(each, is_small=each.steps < _SMALL * all_steps)]
    names = {each.name for each in launch.kernel.instructions if each.name == "wgmma" or "bulk" in each.modifiers}
    return [*found, _NOT_COUNTED] if names else found


def _of_line(costs: LineCosts, *, is_small: bool) -> Iterator[str]:
    counts, line = costs.first, costs.line
    assert line is not None
    where = f"{Path(line.file).name}:{line.number}"
    if counts.conflicts > 0:
        each, least = (n / counts.shared_requests for n in (counts.wavefronts, counts.fewest_wavefronts))
        yield (
            f"{where}: bank conflicts: {each:.1f} wavefronts for each request of shared memory instead of {least:.1f}; "
            "write: a layout with longer rows (padding) or a swizzle"
        )
    if counts.global_requests:
        used = counts.bytes_used / (32 * counts.sectors)
        if used < _MUCH_UNUSED:
            yield (
                f"{where}: {used:.0%} of the bytes that move are used: {counts.sectors / counts.global_requests:.1f} "
                f"sectors for each request of global memory instead of "
                f"{counts.fewest_sectors / counts.global_requests:.1f}; write: neighbouring threads take neighbours"
            )
    if not is_small and counts.splits * 2 >= max(counts.branches, 1):
        yield (
            f"{where}: branches part {counts.splits:,} of {counts.branches:,} warps that come to them: "
            "their threads go one way after another"
        )
    if not is_small and counts.slots and counts.lanes / counts.slots < _FEW_LANES:
        yield f"{where}: {counts.lanes / counts.slots:.0%} of the lanes of its warps take part"
    if counts.atomic_turns >= 2 * counts.atomic_requests > 0:
        yield (
            f"{where}: {counts.atomic_turns / counts.atomic_requests:.1f} atomics of each request are on one address "
            "and take turns; write: a sum in registers or by shuffles first"
        )
    if counts.local_requests:
        yield f"{where}: {counts.local_requests:,} requests of local memory: an array whose index is not known before"
