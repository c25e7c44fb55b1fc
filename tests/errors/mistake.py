"""A typical user mistake: a small program whose `# error:` comment says which error must point where.

`# error: TT0202 at "n > 0"` on a line means: the error with that code, its caret starting at that text of that line.
`at "[i * i", in newer Pythons at "range(n)"` means: those know the place of what a comprehension goes over, and have a
golden text of their own.
"""

from __future__ import annotations

import ast
import dis
import re
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs"

_MARKER = re.compile(r'  # error: (?P<code>TT\d{4}) at (?P<text>".*?")(?:, in newer Pythons at (?P<newer>".*?"))?$')
_IS_NEWER = any(  # asked: 3.12.1 does not, 3.13.0 does
    found.opname == "GET_ITER" and found.positions is not None and found.positions.col_offset == len("[i for i in ")
    for found in dis.get_instructions(compile("[i for i in place]", "<comprehension>", "eval"))
)


@dataclass(frozen=True, slots=True)
class Mistake:
    """A program and what its marker promises; columns count from 1, as messages show them."""

    file: Path
    code: str
    line: int
    column: int
    suffix: str = ".txt"

    @property
    def golden(self) -> Path:
        return self.file.with_suffix(self.suffix)

    def readable(self, error: Exception) -> str:
        """Class, builtin class and message without what is true only here: the folder, the marker in quoted lines."""
        builtin = next(parent.__name__ for parent in type(error).__mro__ if parent.__module__ == "builtins")
        text = f"{type(error).__name__}({builtin}): {error}\n"
        return re.sub(r"  # error: .*", "", text.replace(f"{self.file.parent}/", ""))


def mistakes() -> list[Mistake]:
    return [_read(file) for file in sorted(PROGRAMS.glob("*.py"))]


def _read(file: Path) -> Mistake:
    found: list[Mistake] = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        marker = _MARKER.search(line)
        if marker is not None:
            differs = _IS_NEWER and marker["newer"] is not None
            text, suffix = (marker["newer"], ".newer.txt") if differs else (marker["text"], ".txt")
            column = line[: marker.start()].index(ast.literal_eval(text)) + 1
            found.append(Mistake(file, marker["code"], number, column, suffix))
    assert len(found) == 1, f"{file.name} has {len(found)} markers"
    return found[0]
