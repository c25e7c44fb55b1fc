"""Pictures of what checkers find: the bytes around it by bank, with the threads that meet there, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from triptych.layout.picture import Cell, Grid, draw_svg
from triptych.sanitizer.findings import Example, Finding

_BANKS = 32
_BANK_BYTES = 4
_ROWS = 2
"""Shown above and below a row in which threads meet."""


def draw_findings(findings: Sequence[Finding], folder: Path) -> list[Path]:
    """One file for each, numbered as they are told."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for number, finding in enumerate(findings, start=1):
        written.append(folder / f"finding-{number}-{finding.code}.svg")
        written[-1].write_text(_picture(finding), encoding="utf-8")
    return written


def _picture(finding: Finding) -> str:
    """Words of shared memory, a row for each turn of the banks; words where threads meet name both."""
    met = {each.byte // _BANK_BYTES: each for each in reversed(finding.examples)}
    rows = {word // _BANKS + step for word in met for step in range(-_ROWS, _ROWS + 1)}
    shown = [row for row in sorted(rows) if row >= 0]
    lines = [f"{site.verb} at line {site.spans[0].line}" for site in (finding.previous, finding.current) if site.spans]
    title = f"{finding.code} in {finding.kernel}: {' / '.join(lines)}; rows of 32 banks of shared memory"
    cells = tuple(tuple(_cell(row * _BANKS + bank, met) for bank in range(_BANKS)) for row in shown)
    return draw_svg(Grid(title, cells))


def _cell(word: int, met: dict[int, Example]) -> Cell:
    """Empty, or the threads that meet: the earlier one and the one that comes now."""
    byte = word * _BANK_BYTES
    if word not in met:
        return Cell("", None, f"byte {byte}, bank {word % _BANKS}")
    example = met[word]
    block = ", ".join(map(str, example.block))
    who = f"threads {example.previous} and {example.current} of block ({block})"
    return Cell(
        f"{example.previous}|{example.current}", 0.6, f"byte {example.byte}, {example.part or 'no tensor'}: {who}", True
    )
