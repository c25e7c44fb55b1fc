"""Kernels one after the other in one process: each must say what it says alone.

What a kernel says alone is asked in a child of a process that has launched nothing. A walk then launches kernels in a
drawn order; each step is a pair of kernels, and whatever earlier ones have left is there as well.
"""

from __future__ import annotations

import linecache
import os
import pickle
import random
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import triptych
from tests.checkers.pairs import Pair
from tests.unit.targets.nvptx.programs import FOLDER, example
from triptych.sanitizer.findings import NOTES, collecting
from triptych.support.config import override
from triptych.support.errors import TriptychError

Said = frozenset[tuple[str, frozenset[int]]]
"""Codes with the lines that they name."""
WORDS = "all"


@dataclass(frozen=True, slots=True)
class Program:
    """Something that launches kernels; it is compiled once, when it first runs."""

    name: str
    run: Callable[[], None]

    def said(self) -> Said:
        """What the checkers say of one run, on the thread that calls."""
        with override(debug=WORDS, threads=1), collecting() as collection, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self.run()
            except TriptychError as error:
                return frozenset({(error.code, frozenset({error.span.line} if error.span else ()))})
        faults = [each for each in collection.findings if each.kind not in NOTES]
        return frozenset(
            (each.code, frozenset(s.spans[0].line for s in (each.previous, each.current))) for each in faults
        )


def of_pair(pair: Pair, folder: Path, *, wrong: bool) -> Program:
    """One program of a pair."""
    names = _names(pair, folder, wrong=wrong)

    def run() -> None:
        names["run"]((np.arange(4096) % 61 + 1).astype(pair.dtype), np.zeros(4096, pair.dtype))

    return Program(f"{pair.name} ({'wrong' if wrong else 'right'})", run)


def _names(pair: Pair, folder: Path, *, wrong: bool) -> dict[str, Any]:
    text, _ = pair.text(wrong=wrong)
    file = folder / f"{re.sub(r'[^a-z0-9]+', '_', pair.name)}_{'wrong' if wrong else 'right'}.py"
    file.write_text(text, encoding="utf-8")
    linecache.checkcache(str(file))
    names: dict[str, Any] = {"__name__": pair.name}
    exec(compile(text, str(file), "exec"), names)
    return names


def of_examples() -> Iterator[Program]:
    """The kernel examples that are contract files, with the inputs of their first case."""
    for file in sorted(FOLDER.glob("*.py")):
        if "def kernel_fn" not in file.read_text(encoding="utf-8"):
            continue
        module = example(file.stem)
        sizes = next(iter(getattr(module, "CASES", {"": {}}).values()))

        def run(module: Any = module, sizes: dict[str, Any] = sizes) -> None:
            module.kernel_fn(*module.get_inputs(**sizes))

        yield Program(f"example {file.stem}", run)


def get_ready(folder: Path) -> None:
    """Load what compiles kernels, so that children need not; nothing is launched."""
    with override(debug=WORDS):
        numbers = np.zeros(64, np.float32)
        names = _names(Pair("nothing", "out[t] = x[t]"), folder, wrong=False)
        triptych.compile(names["run"], numbers, numbers)


def alone(program: Program) -> Said:
    """What a program says in a process of its own; this one must not have launched anything."""
    taker, giver = os.pipe()
    child = os.fork()
    if not child:
        with os.fdopen(giver, "wb") as into:
            pickle.dump(program.said(), into)
        os._exit(0)
    os.close(giver)
    with os.fdopen(taker, "rb") as source:
        text = source.read()
    _, status = os.waitpid(child, 0)
    if status:
        raise ChildProcessError(f"{program.name}: a child has ended with {status}")
    found: Said = pickle.loads(text)
    return found


@dataclass(frozen=True, slots=True)
class Difference:
    """A step of a walk that says something else than the program alone."""

    before: str
    now: str
    alone: Said
    said: Said

    def __str__(self) -> str:
        parts = {"new": self.said - self.alone, "gone": self.alone - self.said}
        texts = [f"{name} {code} at {sorted(lines)}" for name, part in parts.items() for code, lines in part]
        return f"{self.now}, after {self.before}: {'; '.join(texts)}"


def walk(programs: Sequence[Program], steps: int, seed: int, known: Sequence[Said]) -> Iterator[Difference]:
    """Launch so many pairs of programs, one behind the other; as long as they are few among all pairs, none twice."""
    draw, seen = random.Random(seed), set[tuple[int, int]]()
    here = draw.randrange(len(programs))
    for _ in range(steps):
        drawn = [draw.randrange(len(programs)) for _ in range(20)]
        there = next((each for each in drawn if (here, each) not in seen), drawn[0])
        seen.add((here, there))
        said = programs[there].said()
        if said != known[there]:
            yield Difference(programs[here].name, programs[there].name, known[there], said)
        here = there
