"""Line report: which instructions each line of the source became in MLIR, PTX or assembly, and SASS.

Counts for a screen, and all instructions for a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeAlias

from triptych.support.dataclass import dataclass

Place: TypeAlias = tuple[str, int]
"""A file and a line in it."""


@dataclass(slots=True)
class Listing:
    """The instructions of one stage, in order."""

    stage: str
    rows: list[tuple[Place | None, str]] = field(default_factory=list)

    def by_place(self) -> Mapping[Place, list[str]]:
        found: dict[Place, list[str]] = {}
        for place, text in self.rows:
            if place is not None:
                found.setdefault(place, []).append(text)
        return found

    @property
    def without_place(self) -> int:
        """What no line of the source asked for: prologues, and what a target adds."""
        return sum(place is None for place, _ in self.rows)


_ALIAS = re.compile(r"^(#loc\d*) = loc\((.*)\)$")
_LOCATED = re.compile(r"^(.*?)\s+loc\((#loc\d*|.*)\)$")
_PART = re.compile(r'(#loc\d*)|"([^"]*)":(\d+)')


def mlir_listing(text: str) -> Listing:
    """Of a module that was printed with its locations. An operation with regions has its location at their end."""
    aliases = {match[1]: match[2] for line in text.splitlines() if (match := _ALIAS.match(line))}
    found = Listing("MLIR")
    heads: list[str] = []
    for raw in text.splitlines():
        line = raw.strip()
        located = _LOCATED.match(line)
        if line.endswith("{") and not line.startswith("}"):
            heads.append(line)
        elif line.startswith("}") and not line.endswith("{"):
            head = heads.pop() if heads else ""
            if located and head and not _is_frame(head):
                found.rows.append((_first_place(located[2], aliases), head))
        elif located and not line.startswith(("#", "^", "module")):
            found.rows.append((_first_place(located[2], aliases), located[1]))
    return found


def _is_frame(head: str) -> bool:
    """A function or a module around operations is none itself."""
    return bool(re.match(r"(module|func\.func|gpu\.func|gpu\.module|builtin\.module)\b", head))


def _first_place(text: str, aliases: Mapping[str, str]) -> Place | None:
    """The innermost place of a location, which stands first: where it was written, before who called it."""
    for match in _PART.finditer(text):
        if match[1]:
            found = _first_place(aliases.get(match[1], ""), aliases)
            if found is not None:
                return found
        elif match[2] and match[2] != "-":
            return match[2], int(match[3])
    return None


_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"(?:\s+"([^"]*)")?')
_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)")
_CODE = re.compile(r"^\s+(?:@!?%?\w+\s+)?([a-z_{][\w.{]*)")


def assembly_listing(text: str, stage: str) -> Listing:
    """Of PTX, or of an assembly of the CPU, with `.loc` lines; line 0 belongs to none."""
    files = {match[1]: _joined(match[2], match[3]) for line in text.splitlines() if (match := _FILE.match(line))}
    found, place = Listing(stage), None
    for line in text.splitlines():
        at = _LOC.match(line)
        if at:
            file = files.get(at[1], "-")
            place = (file, int(at[2])) if int(at[2]) and file != "-" else None
        elif re.match(r"^\s*(\.visible )?\.(entry|func)|^\S+:", line) and not line.startswith((".L", "$L")):
            place = None  # another function begins
        elif _is_instruction(line):
            found.rows.append((place, " ".join(line.split("//")[0].split(" #")[0].split())))
    return found


def _joined(first: str, second: str | None) -> str:
    return first if second is None or second.startswith("/") else f"{first}/{second}"


def _is_instruction(line: str) -> bool:
    text = line.strip()
    return bool(_CODE.match(line)) and not text.startswith((".", "//", "#", "{", "}", "$"))


_SASS_PLACE = re.compile(r'^\s*//## File "([^"]*)", line (\d+)(.*)')
_SASS_CODE = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;?\s*$")


def sass_listing(text: str) -> Listing:
    """Of what `nvdisasm -g` prints; NOPs, which pad, are left out."""
    found, place = Listing("SASS"), None
    for line in text.splitlines():
        at, code = _SASS_PLACE.match(line), _SASS_CODE.match(line)
        if at:
            place = (at[1], int(at[2]))
        elif line.startswith(".text."):
            place = None
        elif code and not code[1].startswith("NOP"):
            found.rows.append((place, code[1].rstrip(" ;")))
    return found


def files_of(listings: list[Listing]) -> Iterator[str]:
    """The files that instructions come from, the most frequent first."""
    counts: dict[str, int] = {}
    for listing in listings:
        for place, _ in listing.rows:
            if place is not None:
                counts[place[0]] = counts.get(place[0], 0) + 1
    yield from sorted(counts, key=lambda file: -counts[file])


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
    lines.append(f" none {_counts(without_place, stages)}  without a line: runtime code")
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
