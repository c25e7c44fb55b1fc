"""Declaration of a puzzle: one text with what fills the hole, inputs, what comes out, and hints."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from textwrap import dedent, indent

import numpy as np

from triptych.support.dataclass import dataclass

_HOLE = re.compile(r"«(.*?)»", re.DOTALL)
_INDENTED = re.compile(r"((?:^ +)?)«(.*?)»", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Puzzle:
    """A file with a hole. Its function `solve` takes the inputs, and `out` as its last parameter."""

    name: str
    text: str
    """The whole file. What « and » enclose is the solution; in the file that a user gets, `...` stands there."""
    inputs: Callable[[np.random.Generator], list[np.ndarray]]
    expected: Callable[..., np.ndarray]
    """Of the inputs: what `out` holds afterwards."""
    hints: tuple[str, ...]
    """From the gentlest to the plainest; the solution follows by itself."""
    forbids_conflicts: bool = False
    """Whether bank conflicts are counted, and none are accepted."""

    @property
    def with_hole(self) -> str:
        return _HOLE.sub("...", self.text)

    def filled(self, *answers: str) -> str:
        """The file with an answer in each hole; without answers, the solution."""
        given = iter(answers)
        return _HOLE.sub(lambda hole: next(given) if answers else hole[1], self.text)

    @property
    def all_hints(self) -> list[str]:
        """The last one is what stands in the holes."""
        holes = [dedent(margin + hole) for margin, hole in _INDENTED.findall(self.text)]
        return [*self.hints, "write:\n" + indent("\n".join(holes), "    ")]


def holes_of(text: str) -> list[int]:
    """Lines of a file on which a hole is left."""
    nodes = ast.walk(ast.parse(text))
    return sorted({node.lineno for node in nodes if isinstance(node, ast.Constant) and node.value is ...})


def numbers(random: np.random.Generator, *shape: int) -> np.ndarray:
    """Small whole numbers, which are easy to recognise, as float32."""
    return random.integers(1, 10, shape).astype(np.float32)
