"""`triptych check FILE[:FUNCTION]`: run a program under the checkers and say what is wrong with its kernels.

A file runs as a script does; a function is called with example arguments, tensors of them filled with random numbers.
A run goes on after a race. Exit codes: 0 nothing found, 1 findings or an error of the program.
"""

from __future__ import annotations

import importlib
import json
import runpy
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from triptych.compat import activate
from triptych.cute.runtime.fake_tensors import FakeTensor
from triptych.metastage import places
from triptych.support.checkers import DEFAULT
from triptych.support.config import has_colours, override
from triptych.support.errors import TriptychError
from triptych.support.finding_errors import error_of
from triptych.support.findings import Collection, Finding, Kind, collecting
from triptych.support.tracebacks import user_traceback
from triptych.tools.show import ShowError, example_arguments, find


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


def check(request: CheckRequest) -> int:
    """Run it and print what was found, the worst first."""
    error: BaseException | None = None
    with override(debug=request.only or DEFAULT), collecting() as collection:
        try:
            with redirect_stdout(sys.stderr):
                program(request)()
        except SystemExit as end:
            error = end if end.code not in (None, 0) else None
        except ShowError:
            raise
        except Exception as raised:  # of the user's program: told below, with what was found before
            error = raised
    print(_as_json(collection, error) if request.json else report_text(collection, error))
    notes = bool(collection.findings) if request.strict else bool(collection.faults)
    return 1 if notes or error is not None else 0


def program(request: CheckRequest) -> Callable[[], object]:
    """What is to run: a function with arguments, or a script."""
    if request.cutlass:
        activate()
    _, colon, name = request.place.rpartition(":")
    if colon and name and not name.endswith(".py"):
        positional, named = example_arguments(request.args)
        function = find(request.place)
        return lambda: function(*map(_filled, positional), **{key: _filled(each) for key, each in named.items()})
    if not Path(request.place).is_file():
        raise ShowError(f"there is no file {request.place}", expected="FILE or FILE:FUNCTION, as seen from here")

    def run() -> None:
        sys.argv = [request.place, *request.arguments]
        sys.path[0] = str(Path(request.place).resolve().parent)
        runpy.run_path(request.place, run_name="__main__")

    return run


def _filled(argument: object) -> object:
    """A tensor of random numbers where the arguments name a kind of tensors with known extents."""
    if not isinstance(argument, FakeTensor):
        return argument
    numpy: Any = importlib.import_module("numpy")
    shape, dtype = argument.shape, argument.element_type.__name__.lower()
    if not all(isinstance(extent, int) for extent in shape):
        raise ShowError(
            "a tensor for a run has known extents", found=str(argument), instead=f'--args "{dtype.title()}[64, 64]"'
        )
    source = numpy.random.default_rng(0)
    return (source.standard_normal(shape) if "float" in dtype else source.integers(0, 100, shape)).astype(dtype)


def report_text(collection: Collection, error: BaseException | None = None) -> str:
    """Everything that was found, for people."""
    colours = has_colours(sys.stdout)
    parts = [f"{_mark(each)}{error_of(each).text(colours=colours)}" for each in collection.findings]
    if isinstance(error, TriptychError):
        parts.append(error.text(colours=colours))
    elif error is not None and not isinstance(error, SystemExit):
        error.__traceback__ = user_traceback(error.__traceback__, places.root_of)
        parts.append("".join(traceback.format_exception(error)).rstrip())
    return "\n\n".join([*parts, summary(collection, error)])


def summary(collection: Collection, error: BaseException | None = None) -> str:
    """One line: how many findings, notes and allowances."""
    faults, notes = len(collection.faults), len(collection.findings) - len(collection.faults)
    texts = [f"{faults} finding{'' if faults == 1 else 's'}"]
    texts += [f"{notes} note{'' if notes == 1 else 's'}"] if notes else []
    texts += [f"{len(collection.allowed)} allowed by comments"] if collection.allowed else []
    texts += ["ended by an error"] if error is not None else []
    return ", ".join(texts)


def _mark(finding: Finding) -> str:
    return "note: " if finding.kind == Kind.SAME_VALUE else ""


def _as_json(collection: Collection, error: BaseException | None) -> str:
    facts: dict[str, Any] = {
        "findings": [finding_facts(each) for each in collection.findings],
        "allowed": [{**finding_facts(each), "reason": reason} for each, reason in collection.allowed],
        "error": None,
    }
    if error is not None:
        facts["error"] = error.as_dict() if isinstance(error, TriptychError) else {"title": repr(error)}
    return json.dumps(facts, indent=2)


def finding_facts(finding: Finding) -> dict[str, Any]:
    """A finding as plain data."""
    examples = [
        {"block": list(each.block), "threads": [each.before, each.now], "byte": each.byte, "barriers": each.epoch}
        for each in finding.examples
    ]
    kind = Kind(finding.kind).name.lower()
    return {**error_of(finding).as_dict(), "kind": kind, "count": finding.count, "examples": examples}
