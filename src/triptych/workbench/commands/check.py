"""`triptych check FILE[:FUNCTION]`: run a program under the checkers and say what is wrong with its kernels.

A run goes on after a race. Exit codes: 0 nothing found, 1 findings or an error of the program, 2 a request that means
nothing, or a program that launches nothing. With `--schedules N` it runs N times more, in other orders; with `--hints`
once more for each barrier.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triptych.layout.picture import Cell, Grid, draw_svg
from triptych.metastage.trace import locations
from triptych.sanitizer.checkers import DEFAULT
from triptych.sanitizer.finding_errors import ScheduleError, error_of
from triptych.sanitizer.findings import NOTES, Collection, Example, Finding, Kind, collecting
from triptych.support.config import has_colours, override
from triptych.support.errors import TriptychError
from triptych.support.tracebacks import user_traceback
from triptych.workbench.commands.check_hints import Hint, hints_of
from triptych.workbench.commands.check_schedules import other_orders
from triptych.workbench.commands.checked_program import Outcome, program_of
from triptych.workbench.commands.show import ShowError

# `triptych check --svg DIR`: a picture of each finding, the bytes around it by bank, with those who meet there.

_BANKS = 32
_BANK_BYTES = 4
_ROWS = 2
"""Shown above and below a row in which threads meet."""


def write_pictures(findings: Sequence[Finding], folder: Path) -> None:
    """One file for each, numbered as they are told."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, finding in enumerate(findings, start=1):
        (folder / f"finding-{number}-{finding.code}.svg").write_text(_picture(finding), encoding="utf-8")


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


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """What to check and how, as the command line says it."""

    place: str
    args: str = ""
    arguments: Sequence[str] = ()
    only: str = ""
    strict: bool = False
    cutlass: bool = False
    json: bool = False
    schedules: int = 0
    seed: int = 1
    hints: bool = False
    svg: str = ""


def check(request: CheckRequest) -> int:
    """Run it and print what was found, the worst first."""
    program = program_of(request.place, request.args, request.arguments, cutlass=request.cutlass)
    words = request.only or DEFAULT
    error: BaseException | None = None
    outcome: Outcome | None = None
    with override(debug=words), collecting() as collection:
        try:
            with redirect_stdout(sys.stderr):
                outcome = program()
        except SystemExit as end:
            error = end if end.code not in (None, 0) else None
        except ShowError:
            raise
        except Exception as raised:  # of the user's program: told below, with what was found before
            error = raised
    if error is None and outcome is not None and request.schedules:
        error = other_orders(program, outcome, words, request.schedules, request.seed, collection)
    hints = hints_of(program, words) if request.hints and error is None and not collection.faults else []
    print(_as_json(collection, error, hints) if request.json else report_text(collection, error, hints))
    if request.svg:
        write_pictures(collection.findings, Path(request.svg))
    notes = bool(collection.findings) if request.strict else bool(collection.faults)
    return 1 if notes or error is not None else 0 if _has_launched(collection) else 2


def report_text(collection: Collection, error: BaseException | None = None, hints: Sequence[Hint] = ()) -> str:
    """Everything that was found, for people."""
    colours = has_colours(sys.stdout)
    parts = [f"{_mark(each)}{error_of(each).text(colours=colours)}" for each in collection.findings]
    if isinstance(error, TriptychError):
        parts.append(error.text(colours=colours))
    elif error is not None and not isinstance(error, SystemExit):
        error.__traceback__ = user_traceback(error.__traceback__, locations.root_of)
        parts.append("".join(traceback.format_exception(error)).rstrip())
    parts += [each.text() for each in hints]
    return "\n\n".join([*parts, summary(collection, error, hints)])


def summary(collection: Collection, error: BaseException | None = None, hints: Sequence[Hint] = ()) -> str:
    """One line: how many findings, notes, hints and allowances."""
    faults, notes = len(collection.faults), len(collection.findings) - len(collection.faults)
    if isinstance(error, ScheduleError):
        faults, error = faults + 1, None
    texts = [f"{faults} finding{'' if faults == 1 else 's'}"]
    texts += [f"{notes} note{'' if notes == 1 else 's'}"] if notes else []
    texts += [f"{len(hints)} hint{'' if len(hints) == 1 else 's'}"] if hints else []
    texts += [f"{len(collection.allowed)} allowed by comments"] if collection.allowed else []
    ended = f"ended by sys.exit({error.code!r})" if isinstance(error, SystemExit) else "ended by an error"
    texts += [ended] if error is not None else []
    texts += (
        ["no kernel was launched, so that nothing was checked"]
        if error is None and not _has_launched(collection)
        else []
    )
    return ", ".join(texts)


def _has_launched(collection: Collection) -> bool:
    """Code that was loaded before may have launched, too: then something must have been found to know it."""
    return collection.launches or bool(collection.findings or collection.allowed)


def _mark(finding: Finding) -> str:
    return "note: " if finding.kind in NOTES else ""


def _as_json(collection: Collection, error: BaseException | None, hints: Sequence[Hint]) -> str:
    facts: dict[str, Any] = {
        "findings": [finding_facts(each) for each in collection.findings],
        "allowed": [{**finding_facts(each), "reason": reason} for each, reason in collection.allowed],
        "hints": [each.facts() for each in hints],
        "launches": _has_launched(collection),
        "error": None,
    }
    if error is not None:
        facts["error"] = error.as_dict() if isinstance(error, TriptychError) else {"title": repr(error)}
    return json.dumps(facts, indent=2)


def finding_facts(finding: Finding) -> dict[str, Any]:
    """A finding as plain data."""
    examples = [
        {"block": list(each.block), "threads": [each.previous, each.current], "byte": each.byte, "barriers": each.epoch}
        for each in finding.examples
    ]
    kind = Kind(finding.kind).name.lower()
    return {**error_of(finding).as_dict(), "kind": kind, "count": finding.count, "examples": examples}
