"""The listing of a kernel: its source, and beside each line a bar and what it asks of memories."""

from __future__ import annotations

import linecache
from collections.abc import Iterator, Sequence
from pathlib import Path

from triptych.ptxsim.counting import CountedLaunch, Counts
from triptych.workbench.costs.lines import LineCosts, blocks_of, by_kind, by_line, grid_total
from triptych.workbench.costs.remarks import remarks

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
    parts += [f"instructions of no line: {_number(rest[0].first.issued)}"] if rest and files else []
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
