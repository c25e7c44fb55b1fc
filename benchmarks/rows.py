"""What every benchmark prints: rows of a figure, its unit and, where one is promised, its bar."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. `bar` is the largest value promised; None means that the figure is only for information."""

    what: str
    value: float
    unit: str
    bar: float | None = None

    @property
    def verdict(self) -> str:
        if self.bar is None:
            return ""
        return "ok" if self.value <= self.bar else "over"


def table(rows: Sequence[Row]) -> str:
    """The rows as aligned text."""
    cells = [
        (row.what, f"{row.value:,.2f}" if row.value < 100 else f"{row.value:,.0f}", row.unit, _bar(row), row.verdict)
        for row in rows
    ]
    heads = ("what", "measured", "unit", "bar", "")
    widths = [max(len(line[i]) for line in (heads, *cells)) for i in range(len(heads))]
    return "\n".join("  ".join(map(_padded, range(len(heads)), line, widths)) for line in (heads, *cells))


def _padded(column: int, cell: str, width: int) -> str:
    return cell.rjust(width) if column == 1 else cell.ljust(width)


def _bar(row: Row) -> str:
    return "" if row.bar is None else f"<= {row.bar:g}"


def run(
    description: str | None, measure: Callable[[], Sequence[Row]], quick: Callable[[], Sequence[Row]] | None = None
) -> int:
    """The command line of one benchmark: measure, print, and fail when a bar is missed. `quick` measures less."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    if quick is not None:
        parser.add_argument("--quick", action="store_true", help="measure less, in less time")
    options = parser.parse_args()
    rows = quick() if quick is not None and options.quick else measure()
    print(json.dumps([asdict(row) for row in rows], indent=2) if options.json else table(rows))
    return int(any(row.verdict == "over" for row in rows))


@contextmanager
def installed_environment() -> Iterator[Mapping[str, str]]:
    """The environment of a child whose modules are compiled to bytecode, as they are in an installed package."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder, "PYTHONPATH": os.pathsep.join(sys.path)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        yield environment
