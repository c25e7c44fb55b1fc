"""A pair of programs, written once: the right one, with marks that say what the wrong one lacks and what is expected.

`#!` ends a line that the wrong program lacks, `#~ text` one that it has in another form. `#<` and `#>` end the two
lines that the report must name; one line with both names itself.
"""

from __future__ import annotations

import itertools
import linecache
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from triptych.sanitizer.finding_errors import error_of
from triptych.sanitizer.findings import NOTES, collecting
from triptych.sanitizer.pipeline_protocol import Explanation
from triptych.support.config import override
from triptych.support.errors import TriptychError

_PROGRAM = """
import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import warp, cpasync
arch = cute.arch

def smem(dtype, count):
    return cute.make_tensor(arch.alloc_smem(dtype, count, 16), cute.make_layout(count))

@tt.kernel
def k(x: cute.Tensor, out: cute.Tensor):
    t, _, _ = arch.thread_idx()
    b, _, _ = arch.block_idx()
{body}

@tt.jit
def run(x: cute.Tensor, out: cute.Tensor):
    k(x, out).launch(grid={grid}, block={block})
"""
_MARKS = re.compile(r"\s*#([<>]+)?(!)?(~ ?.*)?$")
_NUMBERS = itertools.count()


@dataclass(frozen=True, slots=True)
class Pair:
    """The body of a kernel with marks."""

    name: str
    body: str
    block: int | tuple[int, ...] = 64
    grid: int = 1
    code: str = "TT0630"
    dtype: str = "float32"
    words: str = "races,init"
    says: str = ""
    """A part of what the finding says."""
    program: str = _PROGRAM

    def text(self, *, wrong: bool) -> tuple[str, set[int]]:
        """A program, and the lines that its report must name."""
        body = textwrap.indent(textwrap.dedent(self.body).strip("\n"), "    ")
        lines: list[str] = []
        marked: set[int] = set()
        for line in self.program.format(body=body, grid=self.grid, block=self.block).splitlines():
            found = _MARKS.search(line) if "#" in line else None
            code = line[: found.start()] if found else line
            if found and (found[1] or ""):
                marked.add(len(lines) + 1)
            if found and wrong and (found[2] or found[3]):
                indent = code[: len(code) - len(code.lstrip())]
                code = indent + (found[3][1:].strip() if found[3] else "pass")
            lines.append(code)
        return "\n".join(lines) + "\n", marked


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the checkers said of one program: codes, and the lines of each finding."""

    findings: tuple[tuple[str, frozenset[int]], ...]
    notes: int
    texts: tuple[str, ...]
    violations: tuple[Explanation, ...] = ()
    """What was wrong with calls of pipelines, whatever came of it."""


def judged(pair: Pair, folder: Path, *, wrong: bool) -> Verdict:
    """Run one program of a pair under the checkers."""
    text, _ = pair.text(wrong=wrong)
    file = folder / f"{re.sub(r'[^a-z0-9]+', '_', pair.name)}_{'wrong' if wrong else 'right'}_{next(_NUMBERS)}.py"
    file.write_text(text, encoding="utf-8")
    linecache.checkcache(str(file))
    names: dict[str, Any] = {"__name__": pair.name}
    exec(compile(text, str(file), "exec"), names)
    run: Callable[..., None] = names["run"]
    given = (np.arange(4096) % 61 + 1).astype(pair.dtype), np.zeros(4096, pair.dtype)
    with override(debug=pair.words, cache=False), collecting() as collection:
        try:
            run(*given)
        except TriptychError as error:
            lines = frozenset() if error.span is None else frozenset({error.span.line})
            return Verdict(((error.code, lines),), 0, (error.text(),))
    faults = [each for each in collection.findings if each.kind not in NOTES]
    said = tuple((each.code, frozenset(s.spans[0].line for s in (each.previous, each.current))) for each in faults)
    texts = tuple(error_of(each).text() for each in collection.findings)
    violations = tuple(collection.violations.values())
    return Verdict(said, len(collection.findings) - len(faults), texts, violations)


def is_found(pair: Pair, verdict: Verdict) -> bool:
    """Whether a finding has the expected code at the expected pair of lines."""
    _, marked = pair.text(wrong=True)
    said = any(pair.says in text for text in verdict.texts)
    return said and any(code == pair.code and (lines == marked or not marked) for code, lines in verdict.findings)
