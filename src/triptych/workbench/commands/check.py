"""`triptych check FILE[:FUNCTION]`: run a program under the checkers and say what is wrong with its kernels.

A run goes on after a race. Exit codes: 0 nothing found, 1 findings or an error of the program, 2 a request that means
nothing, or a program that launches nothing.

`--schedules N` runs it N times more, with its blocks and warps in other orders. What it leaves behind is compared bit
by bit with the first run. Where that differs although no race was found, the difference is a finding: sums of floats
by atomics do that, and so do orders that the checkers do not know.

`--hints` tells lines that order threads and that nothing in this run needed, or that order nobody. The program runs
once with counts of who comes to such a line: one thread that always comes alone waits for nobody, and a barrier that
is never complete when a block ends waits for more than come. It runs once more for each line, with checkers that
overlook that line alone: when they still find nothing, no run needed it. All that is a hint and no finding, because
other inputs may need it.
"""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import Any

from triptych.metastage.trace import locations
from triptych.sanitizer.checkers import BARRIER_STATISTICS, DEFAULT, in_order, suppressing
from triptych.sanitizer.finding_errors import ScheduleError, error_of
from triptych.sanitizer.findings import NOTES, Arrival, Collection, Finding, Kind, collecting
from triptych.support.config import has_colours, override
from triptych.support.dataclass import dataclass
from triptych.support.errors import TriptychError
from triptych.support.source import Span
from triptych.support.tracebacks import user_traceback
from triptych.workbench.commands.checked_program import Outcome, Program, program_of
from triptych.workbench.commands.sarif import sarif_text
from triptych.workbench.commands.show import ShowError
from triptych.workbench.finding_pictures import draw_findings


def other_orders(
    program: Program, first: Outcome, words: str, count: int, seed: int, found: Collection
) -> BaseException | None:
    """Run in `count` orders, the first of them that of `seed`. Findings are added; returned is what ends it all."""
    expected = _bits(first)
    for order in range(seed, seed + count):
        settings = override(debug=f"{words},{in_order(order)}", block_order=f"shuffled:{order}")
        with settings, collecting() as collection:
            try:
                with redirect_stdout(sys.stderr):
                    outcome = program()
            except Exception as raised:  # of the user's program, in this order only
                return raised
        found.take(collection)
        name = _different(expected, _bits(outcome))
        if name and not found.faults:
            return ScheduleError(
                f"{name} depends on the order in which blocks and warps run, and no race was found",
                found=f"other bits in order {order} than by number, of {count} orders",
                expected="the same bits in every order",
                instead="an order of your own where one is due: a fixed place for each block and one sum at the end, "
                "in place of atomic sums of floats",
                notes=[f"again: `triptych check --schedules 1 --seed {order}`"],
            )
    return None


def _different(expected: dict[str, bytes], found: dict[str, bytes]) -> str:
    """The first name whose bits are others."""
    return next((name for name, bits in expected.items() if found.get(name, bits) != bits), "")


def _bits(outcome: Outcome) -> dict[str, bytes]:
    """Everything that has bits: arrays, tensors, numbers, texts, and tuples and lists of them."""
    found: dict[str, bytes] = {}
    for name, value in outcome.items():
        if name.startswith("__"):
            continue
        parts = value if isinstance(value, tuple | list) else [value]
        bits = [_bits_of(part) for part in parts]
        if bits and all(each is not None for each in bits):
            found[name] = b"".join(each for each in bits if each is not None)
    return found


def _bits_of(value: Any) -> bytes | None:
    if isinstance(value, str | int | float | bool):
        return repr(value).encode()
    if hasattr(value, "detach") and hasattr(value, "untyped_storage"):
        return bytes(value.detach().contiguous().clone().untyped_storage())
    if hasattr(value, "tobytes") and hasattr(value, "dtype"):
        bits: bytes = value.tobytes()
        return bits
    return None


_VIOLATION = "a stage of a pipeline is not taken and given on once each, at line {}; nothing came of it in this run"


@dataclass(frozen=True, slots=True)
class Hint:
    """A line, what is said of it, and what to do."""

    span: Span
    title: str
    instead: str

    def text(self) -> str:
        """For people."""
        return f"hint: {self.title}\n  --> {self.span}\n   | {self.span.text().strip()}\n   = write: {self.instead}"

    def facts(self) -> dict[str, Any]:
        """For scripts."""
        return {**asdict(self.span), "title": self.title, "instead": self.instead}


def hints_of(program: Program, words: str) -> list[Hint]:
    """Those of each line, in the order of the program; what is said of who comes says more than that none needs it."""
    counted = _run(program, f"{words},{BARRIER_STATISTICS}")
    lines = {(span.file, span.line): span for span in counted.orders}
    found: list[Hint] = []
    for _, span in sorted(lines.items()):
        same_line = [seen for place, seen in counted.arrivals.items() if (place.file, place.line) == _line(span)]
        came: dict[Arrival, tuple[int, int]] = {}
        for seen in same_line:
            came = {**seen, **came}
        said = _said_of_who_comes(span, came)
        if said is None and not _run(program, f"{words},{suppressing(span)}").findings:
            said = Hint(span, f"no run needed what line {span.line} orders", "nothing, if other inputs do not need it")
        found += [said] if said is not None else []
    violations = sorted(counted.violations.items(), key=lambda item: _line(item[0]))
    return found + [Hint(span, _VIOLATION.format(span.line), each.text) for span, each in violations]


def _said_of_who_comes(span: Span, came: Mapping[Arrival, tuple[int, int]]) -> Hint | None:
    if Arrival.INCOMPLETE in came and Arrival.COMPLETE not in came:
        arrived, expected = came[Arrival.INCOMPLETE]
        title = f"the barrier at line {span.line} is never complete: blocks end after {arrived} of {expected} threads"
        return Hint(span, title, f"number_of_threads={arrived}, or let the other {expected - arrived} come")
    if Arrival.ALONE in came and Arrival.WITH_OTHERS not in came:
        thread, _ = came[Arrival.ALONE]
        title = f"one thread of its warp comes to line {span.line}, always alone, such as thread {thread}"
        return Hint(span, title, "it where all threads come that are to be ordered, or nothing")
    return None


def _line(span: Span) -> tuple[str, int]:
    return span.file, span.line


def _run(program: Program, words: str) -> Collection:
    """What a run finds, orders and counts."""
    with override(debug=words, cache=False), collecting() as collection, redirect_stdout(sys.stderr):
        program()
    return collection


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
    sarif: str = ""


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
    if request.sarif:
        file, _, name = request.place.rpartition(":")
        Path(request.sarif).write_text(sarif_text(file or name, collection, error), encoding="utf-8")
    if request.svg:
        draw_findings(collection.findings, Path(request.svg))
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
    shown = [*map(error_of, collection.findings), *([error] if isinstance(error, TriptychError) else [])]
    explained = dict.fromkeys(each.more().strip(" =") for each in sorted(shown, key=lambda each: each.code))
    parts += ["\n".join(filter(None, explained))] if any(explained) else []
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


@dataclass(frozen=True, slots=True)
class CostRequest:
    """What to count and how, as the command line says it."""

    place: str
    args: str = ""
    arguments: Sequence[str] = ()
    cutlass: bool = False
    json: bool = False
    arch: str = "sm_80"
    blocks: str = "5"
    case: str = ""
    svg: str = ""
