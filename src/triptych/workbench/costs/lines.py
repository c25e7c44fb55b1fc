"""Counts of instructions, added up for each line of the program, and for the whole grid where that can be said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from triptych.ptxsim.counting import BlockCounts, CountedLaunch, Counts, kind_of
from triptych.ptxsim.reading import Kernel, Line


@dataclass(frozen=True, slots=True)
class LineCosts:
    """What one line of a kernel costs a block."""

    line: Line | None
    """None: instructions that belong to no line of their own."""
    first: Counts
    """Of the first block that ran."""
    blocks: tuple[Counts, ...]

    @property
    def is_alike(self) -> bool:
        """Whether all blocks that ran have the same counts, so that others can be assumed to."""
        return all(each == self.first for each in self.blocks)

    @property
    def wasted(self) -> int:
        """Steps beyond those that any program for it needs: bank conflicts, sectors, turns of atomics."""
        return max(waste(each) for each in self.blocks)

    @property
    def steps(self) -> int:
        return max(each.issued for each in self.blocks) + self.wasted


def waste(counts: Counts) -> int:
    """Wavefronts, sectors and turns of atomics beyond the fewest."""
    turns = counts.atomic_turns - counts.atomic_requests
    return counts.conflicts + counts.sectors - counts.fewest_sectors + turns


def by_line(launch: CountedLaunch) -> list[LineCosts]:
    """The lines of a launch in the order of the program; instructions without a line last."""
    blocks = [_lines_of(block, launch.kernel) for block in launch.blocks]
    lines = sorted({line for block in blocks for line in block if line is not None})
    every = [*lines, *([None] if any(None in block for block in blocks) else [])]
    rows = [(line, tuple(block.get(line, Counts()) for block in blocks)) for line in every]
    return [LineCosts(line, counts[0], counts) for line, counts in rows]


def by_kind(launch: CountedLaunch) -> list[Counter[str]]:
    """Instructions that warps issue, by kind, of each block that ran."""
    found = []
    for block in launch.blocks:
        kinds: Counter[str] = Counter()
        for place, counts in block.counts.items():
            kinds[kind_of(launch.kernel.instructions[place])] += counts.issued
        found.append(kinds)
    return found


def grid_total(launch: CountedLaunch, costs: Sequence[LineCosts], name: str) -> int | None:
    """A count of the whole grid; None where some line of the blocks that ran differs in it, and some did not run."""
    counts = [[int(getattr(each, name)) for each in line.blocks] for line in costs]
    if launch.is_whole:
        return sum(map(sum, counts))
    if any(len(set(line)) > 1 for line in counts):
        return None
    return sum(line[0] for line in counts) * blocks_of(launch)


def blocks_of(launch: CountedLaunch) -> int:
    """Of the whole grid."""
    x, y, z = launch.grid
    return x * y * z


def _lines_of(block: BlockCounts, kernel: Kernel) -> Mapping[Line | None, Counts]:
    found: dict[Line | None, Counts] = {}
    for place, counts in block.counts.items():
        found.setdefault(kernel.lines[place], Counts()).add(counts)
    return found
