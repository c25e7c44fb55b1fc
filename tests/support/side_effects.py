"""Calls with effects, under run-time control flow: a judge that asks CPython.

Each entry is a program: what is set up, the statement under the run-time branch or loop, and what shows its effect
afterwards. The judge runs it in CPython and compiled, for numbers of repetitions that include none. `right` means the
same results, `refused` a coded error; anything else is silent, and a bug.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import triptych as tt
from tests.support.side_effect_calls import HEADER


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one call in one construct."""

    construct: str
    call: str
    verdict: str
    """`right`, `refused`, or, which are bugs, `SILENT` and `INTERNAL`."""
    detail: str


REPETITIONS = (0, 2)
CONSTRUCTS = {"branch": "if n > 0:", "loop": "for _tick in range(n):"}


def judge(folder: Path, calls: tuple[tuple[str, str, str], ...], imports: str = "") -> Iterator[Outcome]:
    """What becomes of every call in every construct; `imports` goes before the programs."""
    named = list(_programs(calls))
    module = _load(folder / "side_effect_programs.py", HEADER + imports + "\n\n".join(text for *_, text in named))
    for name, construct, call, _ in named:
        yield Outcome(construct, call, *_verdict(getattr(module, name)))


def _programs(calls: tuple[tuple[str, str, str], ...]) -> Iterator[tuple[str, str, str, str]]:
    for number, (setup, call, probe) in enumerate(calls):
        for construct, head in CONSTRUCTS.items():
            name = f"{construct}_{number}"
            text = f"def {name}(n: tt.Int32):\n    {setup}\n    {head}\n        {call}\n    return {probe}\n"
            yield name, construct, call, text


def _verdict(function: Any) -> tuple[str, str]:
    """Compiled first: what is refused must not have happened, and so is not tried in CPython either."""
    compiled = tt.jit(function)
    try:
        results = [compiled(n) for n in REPETITIONS]
    except tt.TriptychError as error:
        return "refused", error.code
    except Exception as error:
        return "INTERNAL", repr(error)
    expected = [function(n) for n in REPETITIONS]
    return ("right", "") if results == expected else ("SILENT", f"{results} instead of {expected}")


def _load(file: Path, text: str) -> ModuleType:
    """The programs as a module: rewriting wants a file."""
    file.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("side_effect_programs", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
