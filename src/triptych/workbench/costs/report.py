"""Cost report of a kernel: counts for each line of its source with a bar, remarks, the dearest first, and JSON."""

from __future__ import annotations

import linecache
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from triptych.ptxsim.counting import BlockCounts, CountedLaunch, Counts, kind_of
from triptych.ptxsim.reading import Kernel, Line
from triptych.support.dataclass import dataclass
from triptych.workbench.costs.simulation import CostRun
from triptych.workbench.costs.table import fits, resources


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


_MUCH_UNUSED = 0.75
"""Of the bytes that move, below which a line is told of."""
_FEW_LANES = 0.75
_SMALL = 0.02
"""Of all steps of a kernel: of lines below it is not told how their threads part."""
_NOT_COUNTED = "the traffic of TMA copies and the shared memory reads of WGMMA are not counted"


def remarks(launch: CountedLaunch, costs: Sequence[LineCosts]) -> list[str]:
    """Sentences, each with its line."""
    ordered = sorted((each for each in costs if each.line is not None), key=lambda each: -each.steps)
    all_steps = sum(each.steps for each in costs)
    found = [text for each in ordered for text in _of_line(each, is_small=each.steps < _SMALL * all_steps)]
    names = {each.name for each in launch.kernel.instructions if each.name == "wgmma" or "bulk" in each.modifiers}
    return [*found, _NOT_COUNTED] if names else found


def _of_line(costs: LineCosts, *, is_small: bool) -> Iterator[str]:
    counts, line = costs.first, costs.line
    assert line is not None, "costs without a line get no remarks"
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
            f"{where}: branches diverge in {counts.splits:,} of {counts.branches:,} warps: "
            "their threads take one path after another"
        )
    if not is_small and counts.slots and counts.lanes / counts.slots < _FEW_LANES:
        yield f"{where}: {counts.lanes / counts.slots:.0%} of the lanes of its warps are active"
    if counts.atomic_turns >= 2 * counts.atomic_requests > 0:
        yield (
            f"{where}: {counts.atomic_turns / counts.atomic_requests:.1f} atomics of each request are on one address "
            "and are serialized; write: a sum in registers or by shuffles first"
        )
    if counts.local_requests:
        yield f"{where}: {counts.local_requests:,} requests of local memory: an array whose index is not known before"


_BAR = 16
_GAP = 3
"""Lines without code that are still shown between two with code."""
_TOTALS = {
    "issued": "instructions of warps",
    "wavefronts": "wavefronts",
    "conflicts": "of them bank conflicts",
    "sectors": "sectors",
    "bytes_used": "bytes used of them",
}
_HEADS = ("line", "steps".ljust(_BAR), "instr.", "lanes", "shared memory", "global memory", "source")


def listing(launch: CountedLaunch) -> str:
    """One launch, for people."""
    costs = by_line(launch)
    parts = [_head(launch)]
    files = sorted({each.line.file for each in costs if each.line is not None})
    for file in files:
        parts.append(_file(file, [each for each in costs if each.line is not None and each.line.file == file]))
    rest = [each for each in costs if each.line is None]
    parts += [f"instructions without a line: {_number(rest[0].first.issued)}"] if rest and files else []
    parts += [] if files else ["the code has no lines: it was not compiled here"]
    parts += [_totals(launch, costs)]
    said = remarks(launch, costs)
    return "\n".join([*parts, *(f"- {each}" for each in said)])


def _head(launch: CountedLaunch) -> str:
    grid, block = (" x ".join(map(str, _trimmed(each))) for each in (launch.grid, launch.block))
    cluster = f", clusters of {' x '.join(map(str, _trimmed(launch.cluster)))}" if launch.cluster != (1, 1, 1) else ""
    ran = ", ".join(str(each.index).replace(" ", "") for each in launch.blocks)
    which = "all" if launch.is_whole else f"{ran} of {_number(blocks_of(launch))}"
    more = f"; {launch.alike - 1} more launches like it" if launch.alike > 1 else ""
    seconds = launch.seconds / len(launch.blocks)
    return (
        f"{launch.kernel.name}: grid {grid}{cluster}, block {block}{more}\n"
        f"blocks that ran: {which}; {seconds:.2f} s each; counts are those of a block"
    )


def _file(file: str, costs: Sequence[LineCosts]) -> str:
    rows = list(_rows(file, costs))
    widths = [max(len(row[i]) for row in (_HEADS, *rows)) for i in range(len(_HEADS) - 1)]
    lines = [_row(_HEADS, widths), *(_row(row, widths) for row in rows)]
    return "\n".join([_name(file), *lines])


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    line, bar, issued, lanes, shared, far, source = cells
    texts = [line.rjust(widths[0]), bar.ljust(widths[1]), issued.rjust(widths[2]), lanes.rjust(widths[3])]
    texts += [shared.ljust(widths[4]), far.ljust(widths[5]), f"| {source}"]
    return "  ".join(texts).rstrip()


def _rows(file: str, costs: Sequence[LineCosts]) -> Iterator[tuple[str, ...]]:
    most = max(each.steps for each in costs)
    known = {each.line.number: each for each in costs if each.line is not None}
    before = min(known) - 1
    for number in sorted(known):
        if number - before - 1 > _GAP:
            yield ("...", "", "", "", "", "", "")
            before = number - 1
        for between in range(before + 1, number):
            yield (str(between), "", "", "", "", "", _source(file, between))
        each = known[number]
        mark = "" if each.is_alike else "*"
        cells = (_bar(each, most), _number(each.first.issued) + mark, _lanes(each.first))
        yield (str(number), *cells, _shared(each.first), _global(each.first), _source(file, number))
        before = number


def _bar(costs: LineCosts, most: int) -> str:
    """As long as the steps; what is wasted of them is light."""
    length = max(round(_BAR * costs.steps / most), 1) if most else 0
    light = round(length * costs.wasted / costs.steps) if costs.steps else 0
    return "█" * (length - light) + "░" * light


def _shared(counts: Counts) -> str:
    if not counts.shared_requests:
        return ""
    return f"{_number(counts.shared_requests)} x {counts.wavefronts / counts.shared_requests:.1f} wavefronts"


def _global(counts: Counts) -> str:
    if not counts.global_requests:
        return ""
    sectors = counts.sectors / counts.global_requests
    used = counts.bytes_used / (32 * counts.sectors)
    return f"{_number(counts.global_requests)} x {sectors:.1f} sectors, {used:.0%} used"


def _lanes(counts: Counts) -> str:
    return f"{counts.lanes / counts.slots:.0%}" if counts.slots else ""


def _totals(launch: CountedLaunch, costs: Sequence[LineCosts]) -> str:
    """Of the whole grid, where every block that ran has the same counts."""
    kinds = ", ".join(f"{kind} {_number(number)}" for kind, number in by_kind(launch)[0].most_common())
    lines = [f"instructions of a block by kind: {kinds}"]
    counts = {word: grid_total(launch, costs, name) for name, word in _TOTALS.items()}
    known = [f"{_number(number)} {word}" for word, number in counts.items() if number is not None]
    unknown = [word for word, number in counts.items() if number is None]
    how = "" if launch.is_whole else f" (as in the {len(launch.blocks)} that ran, which are alike in it)"
    lines += [f"all {_number(blocks_of(launch))} blocks{how}: {', '.join(known)}"] if known else []
    if any(not each.is_alike for each in costs):
        lines.append("* differs between the blocks that ran; the first is shown")
    lines += [f"no total, because the blocks that ran differ: {', '.join(unknown)}"] if unknown else []
    return "\n".join(lines)


def _source(file: str, number: int) -> str:
    return linecache.getline(file, number).rstrip()


def _name(file: str) -> str:
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file


def _trimmed(extents: tuple[int, int, int]) -> tuple[int, ...]:
    """Without ones at the end."""
    x, y, z = extents
    return extents if z > 1 else (x, y) if y > 1 else (x,)


def _number(number: int) -> str:
    return f"{number:,}"


_COUNTED = (
    "issued", "shared_requests", "wavefronts", "conflicts", "global_requests", "sectors", "bytes_used", "atomics",
)  # fmt: skip


def facts(run: CostRun, ended_by: str) -> dict[str, Any]:
    """Everything that the text says, and the counts of each block that ran."""
    return {
        "architecture": run.architecture,
        "launches": [_launch(launch, run) for launch in run.counting.launches],
        "ended_by": ended_by,
    }


def _launch(launch: CountedLaunch, run: CostRun) -> dict[str, Any]:
    costs, usage = by_line(launch), run.usage()
    return {
        "kernel": launch.kernel.name,
        "grid": launch.grid,
        "block": launch.block,
        "cluster": launch.cluster,
        "blocks_that_ran": [block.index for block in launch.blocks],
        "blocks": blocks_of(launch),
        "launches_alike": launch.alike,
        "seconds_per_block": round(launch.seconds / len(launch.blocks), 4),
        "lines": [_line(each) for each in costs],
        "instructions_by_kind": [dict(each) for each in by_kind(launch)],
        "of_the_grid": {name: grid_total(launch, costs, name) for name in _COUNTED},
        "remarks": remarks(launch, costs),
        "resources": resources(launch, usage),
        "occupancy": [asdict(fit) for fit in fits(launch, usage)],
    }


def _line(costs: LineCosts) -> dict[str, Any]:
    line = costs.line
    return {
        "file": None if line is None else line.file,
        "line": None if line is None else line.number,
        "source": "" if line is None else linecache.getline(line.file, line.number).strip(),
        "is_alike": costs.is_alike,
        "of_a_block": [{**asdict(each), "conflicts": each.conflicts} for each in costs.blocks],
    }
