"""Judgement of an answer: the hole, the checkers, the values, bank conflicts, and at last all of `triptych verify`.

The first mistake ends it, and is told in one sentence with its lines; a picture shows it where one helps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from triptych.layout.drawing import draw_text
from triptych.layout.picture import Cell, Grid
from triptych.sanitizer.checkers import DEFAULT
from triptych.sanitizer.finding_errors import error_of
from triptych.sanitizer.findings import Finding, collecting
from triptych.support.config import override
from triptych.support.dataclass import dataclass
from triptych.support.errors import TriptychError
from triptych.support.tracebacks import in_one_line
from triptych.workbench.contracts.contract import Contract
from triptych.workbench.contracts.loading import load_module
from triptych.workbench.costs.pictures import write_pictures
from triptych.workbench.costs.report import by_line
from triptych.workbench.costs.simulation import counted
from triptych.workbench.finding_pictures import draw_findings
from triptych.workbench.puzzles.all_puzzles import PUZZLES
from triptych.workbench.puzzles.puzzle import Puzzle, holes_of
from triptych.workbench.verification.comparison import expect, problems_of
from triptych.workbench.verification.verifying import VerifyOptions, verify

_UNWRITTEN = 0xFF
"""Fills `out` before a run: `problems_of` knows it again."""
_OUTSIDE = "out-of-bounds access"
_HANG, _DEADLOCK = "hang", "TT0622"
_MISTAKES = {
    "TT0610": _OUTSIDE,
    "TT0901": _OUTSIDE,
    "TT0621": _HANG,
    _DEADLOCK: _HANG,
    "TT0626": _HANG,
    "TT0630": "race",
    "TT0633": "race",
    "TT0634": "race",
    "TT0631": "uninitialised read",
    "TT0635": "uninitialised read",
}
"""By the code of an error."""
_COLUMNS = 16
"""Of the picture of wrong values, and its rows."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of an answer."""

    mistake: str = ""
    """Its kind, as "race"; empty where there is none."""
    message: str = ""
    """One sentence with the lines, or the place and the numbers."""
    details: str = ""
    picture: str = ""
    """As text."""
    files: tuple[str, ...] = ()
    """Pictures that were written."""


def worker_main(request: dict[str, Any], doing: Callable[[str], None]) -> dict[str, Any]:
    """The verdict on the file of a puzzle, as plain data."""
    puzzle, file = PUZZLES[request["number"] - 1], Path(request["file"])
    doing(f"the kernel of {file.name}")
    return asdict(judge(puzzle, file))


def judge(puzzle: Puzzle, file: Path) -> Verdict:
    """The first mistake of an answer."""
    try:
        holes = holes_of(file.read_text(encoding="utf-8"))
    except SyntaxError as error:
        return Verdict("syntax error", f"line {error.lineno}: {error.msg}", (error.text or "").rstrip())
    if holes:
        return Verdict(
            "hole", f"{_at(holes)} still {'has' if len(holes) == 1 else 'have'} `...`: write your code there"
        )
    try:
        return _judge_run(puzzle, _contract(puzzle, file))
    except TriptychError as error:
        return _of_error(error)
    except Exception as error:  # of the user's file, which Python would show
        return Verdict("error", in_one_line(error))


def _contract(puzzle: Puzzle, file: Path) -> Contract:
    solve = load_module(file.resolve(), f"triptych_puzzle_{puzzle.name}").solve

    def kernel(*inputs: np.ndarray) -> np.ndarray:
        out = np.empty_like(puzzle.expected(*inputs))
        out.view(np.uint8)[...] = _UNWRITTEN
        solve(*inputs, out)
        return out

    def get_inputs(seed: int = 0) -> list[np.ndarray]:
        return puzzle.inputs(np.random.default_rng(seed))

    return Contract(file, kernel, puzzle.expected, get_inputs, called=puzzle.name)


def _judge_run(puzzle: Puzzle, contract: Contract) -> Verdict:
    inputs = contract.inputs(0)
    with override(debug=DEFAULT, block_order="shuffled"), collecting() as collection:
        out = contract.kernel(*inputs)
    if collection.faults:
        return _of_finding(collection.faults[0], contract.file)
    expected = expect(contract, inputs, [contract.reference(*inputs)], None, [out])[0]
    for _, text in problems_of(out, expected, "out"):
        return Verdict("wrong values", text, picture=_values(out, contract.reference(*inputs), expected.bound))
    if puzzle.forbids_conflicts:
        conflicts = _conflicts(contract, inputs)
        if conflicts.mistake:
            return conflicts
    found = verify(contract, VerifyOptions(seeds=1))
    return Verdict() if found.verdict == "pass" else Verdict("wrong values", found.findings[0].text)


def _of_error(error: TriptychError) -> Verdict:
    """A race names both of its lines, everything else the one where it happens; a hang says who waits for what."""
    mistake = _MISTAKES.get(error.code, "error")
    spans = [error.span, *(span for label, span in error.related if "called from" not in label)]
    lines = sorted({span.line for span in spans if span is not None})
    where = f"{_at(lines)}: " if lines else ""
    said = f"{error.title}: {error.found}" if error.code == _DEADLOCK else error.title
    if mistake == _OUTSIDE and error.span is not None:
        accessed = error.span.text()[error.span.column : error.span.end_column]
        said = f"`{accessed}` is out of bounds {error.notes[0] if error.notes else ''}".rstrip()
    return Verdict(mistake, f"{where}{said}", error.text())


def _at(lines: Sequence[int]) -> str:
    return f"line{'s' * (len(lines) > 1)} {' and '.join(map(str, lines))}"


def _of_finding(finding: Finding, file: Path) -> Verdict:
    drawn = draw_findings([finding], _pictures(file))
    return replace(_of_error(error_of(finding)), files=tuple(map(str, drawn)))


def _conflicts(contract: Contract, inputs: Sequence[np.ndarray]) -> Verdict:
    with counted("sm_80", range, keeps_requests=True) as run:
        contract.kernel(*inputs)
    launch = run.counting.launches[0]
    worst = max(by_line(launch), key=lambda each: each.first.conflicts)
    counts, line = worst.first, worst.line.number if worst.line else 0
    if not counts.conflicts:
        return Verdict()
    text = (
        f"line {line}: {counts.conflicts} bank conflicts in a block: its {counts.shared_requests} requests take "
        f"{counts.wavefronts} wavefronts, {counts.fewest_wavefronts} would do"
    )
    drawn = map(str, write_pictures(launch, _pictures(contract.file)))
    return Verdict("bank conflicts", text, files=tuple(path for path in drawn if f"line{line}-shared" in path))


def _pictures(file: Path) -> Path:
    """The folder for those of a file."""
    return file.parent / "pictures" / file.stem


def _values(out: np.ndarray, expected: np.ndarray, bound: np.ndarray) -> str:
    """A part of `out` as a table, from the first wrong element on; wrong ones are told as "got, not expected"."""
    rows, wanted, bounds = (np.atleast_2d(each) for each in (out, expected, bound))
    wrong = ~(np.abs(rows.astype(np.float64) - wanted) <= bounds)
    top, left = (int(place.min()) // _COLUMNS * _COLUMNS for place in np.nonzero(wrong))
    shown = [range(start, min(start + _COLUMNS, size)) for start, size in zip((top, left), rows.shape, strict=True)]
    cells = tuple(
        tuple(Cell(f"{rows[i, j]:g}" + f" ≠ {wanted[i, j]:g}" * bool(wrong[i, j]), None, "") for j in shown[1])
        for i in shown[0]
    )
    corner = f" from [{top}, {left}] on" if top or left else ""
    return f"out{corner}; got ≠ expected where it is wrong:\n{draw_text(Grid('out', cells))}"
