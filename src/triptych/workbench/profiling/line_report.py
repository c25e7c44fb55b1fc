"""Annotated source: counts of instructions for a screen, and all instructions for a file."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path
from typing import Any

from triptych.workbench.profiling.line_listings import Listing, files_of

_WIDTHS = {"MLIR": 64, "PTX": 46, "SASS": 46}
_WIDTH = 52


def line_rows(listings: list[Listing]) -> list[dict[str, Any]]:
    """A row for each line of the source that became instructions: the numbers by stage, and the instructions."""
    by_stage = {listing.stage: listing.by_place() for listing in listings}
    rows = []
    for file in files_of(listings):
        text = _source(file)
        lines = sorted({place[1] for places in by_stage.values() for place in places if place[0] == file})
        for line in lines:
            texts = {stage: places.get((file, line), []) for stage, places in by_stage.items()}
            rows.append(
                {
                    "file": file,
                    "line": line,
                    "source": text[line - 1] if line <= len(text) else "",
                    "counts": {stage: len(found) for stage, found in texts.items()},
                    "instructions": texts,
                }
            )
    return rows


def counts_table(rows: list[dict[str, Any]], without_place: dict[str, int]) -> list[str]:
    """Counts beside the source."""
    stages = list(without_place)
    heads = " ".join(f"{stage:>6}" for stage in stages)
    lines = []
    for file in dict.fromkeys(row["file"] for row in rows):
        own = [row for row in rows if row["file"] == file]
        lines.append(f" line {heads}  {Path(file).name}")
        lines += [f"{row['line']:5} {_counts(row['counts'], stages)}  {row['source'].rstrip()}" for row in own]
    totals = {stage: sum(row["counts"][stage] for row in rows) + without_place[stage] for stage in stages}
    lines.append(f" none {_counts(without_place, stages)}  of no line: what a target adds")
    lines.append(f"  all {_counts(totals, stages)}")
    return lines


def full_listing(title: str, rows: list[dict[str, Any]]) -> list[str]:
    """Under each line of the source its instructions, the stages beside each other."""
    lines = [title, "=" * len(title)]
    for row in rows:
        lines += ["", f"{Path(row['file']).name}:{row['line']}: {row['source'].strip()}"]
        stages = [stage for stage, found in row["instructions"].items() if found]
        widths = [_WIDTHS.get(stage, _WIDTH) for stage in stages]
        counted = [f"{stage} ({row['counts'][stage]})" for stage in stages]
        cells = [counted, *zip_longest(*(row["instructions"][stage] for stage in stages), fillvalue="")]
        for texts in cells:
            cut = (_cut(text, width) for text, width in zip(texts, widths, strict=True))
            lines.append(("    " + " | ".join(cut)).rstrip(" |"))
    return [*lines, ""]


def _cut(text: str, width: int) -> str:
    return f"{text:<{width}}" if len(text) <= width else text[: width - 1] + "…"


def _counts(numbers: dict[str, int], stages: list[str]) -> str:
    return " ".join(f"{numbers[stage] or '':>6}" for stage in stages)


def _source(file: str) -> list[str]:
    path = Path(file)
    return path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []
