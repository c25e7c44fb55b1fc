"""`triptych check --hints`: barriers that nothing in this run needed.

The program runs once more for each line that orders threads, with checkers that overlook that line alone: when they
still find nothing, no run needed it. That is a hint and no finding, because other inputs may need it.
"""

from __future__ import annotations

import sys
from contextlib import redirect_stdout

from triptych.support.checkers import overlooking
from triptych.support.config import override
from triptych.support.findings import collecting
from triptych.support.source import Span
from triptych.tools.checked_program import Program


def unneeded(program: Program, words: str) -> list[Span]:
    """The lines, in the order of the program."""
    lines = {(span.file, span.line): span for span in _run(program, words)[1]}
    return [lines[key] for key in sorted(lines) if not _run(program, f"{words},{overlooking(lines[key])}")[0]]


def _run(program: Program, words: str) -> tuple[int, set[Span]]:
    """How many findings there are, and the lines that order threads."""
    with override(debug=words, cache=False), collecting() as collection, redirect_stdout(sys.stderr):
        program()
    return len(collection.findings), collection.orders


def hint_text(span: Span) -> str:
    """For people."""
    return f"hint: no run needed what line {span.line} orders\n  --> {span}\n   | {span.text().strip()}"
