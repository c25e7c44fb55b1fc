"""Generated kernels under the checkers: all are free of races and read nothing unset, so that every finding is false.

    python -m benchmarks.false_alarms --programs 500 --seed 0 --jobs 1

Run from the root of the repository. A program is a module of ten kernels, which are compiled together: most of what
one small kernel costs is the same for ten. Blocks run in a shuffled order, with all checkers. A module with findings
is taken apart, and each of its kernels judged alone.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import triptych
from benchmarks.fuzzing import Fuzzer, run
from tests.differential.choices import Choices
from tests.differential.judge import Failure
from tests.differential.kernels import ordered
from tests.differential.kernels.generator import generate
from tests.differential.kernels.oracle import NAMES
from tests.differential.kernels.program import KernelProgram
from tests.differential.program import Program, loaded
from triptych.sanitizer.checkers import BOUNDS, DEFAULT
from triptych.sanitizer.finding_errors import error_of
from triptych.sanitizer.findings import collecting
from triptych.support.config import override

KERNELS = 10
"""Of a module."""

SHARE_OF_ORDERED = 0.8
"""Modules of small kernels about order; the others have all that the language has, and cost five times as much."""

_TOP = re.compile(r"(?<!\.)\b(fuzzed|help\d|launch)\b(?=\()")


@dataclass(frozen=True, slots=True)
class Module:
    """Several generated kernels."""

    kernels: tuple[KernelProgram, ...]
    checkers: str = DEFAULT

    @property
    def source(self) -> str:
        """All of them, and a function that launches one after the other."""
        parts = [_TOP.sub(rf"\1_{at}", each.source) for at, each in enumerate(self.kernels)]
        names = [list(self._names(at)) for at in range(len(self.kernels))]
        taken = ", ".join(name for each in names for name, _ in each)
        calls = [f"    launch_{at}({', '.join(name for name, _ in each)})" for at, each in enumerate(names)]
        return "\n\n\n".join([*parts, "\n".join(("@jit", f"def launch({taken}):", *calls))]) + "\n"

    def _names(self, at: int) -> Iterator[tuple[str, object]]:
        """The arguments of a kernel's launch, with the values of its first call."""
        program = self.kernels[at]
        for buffer in program.buffers:
            yield f"{buffer.name}_{at}", buffer.array()
        for name, value in zip(program.scalars, program.calls[0], strict=True):
            yield f"{name}_{at}", value
        sizes = (*program.grid, *program.block) if program.is_dynamic else ()
        for number, size in enumerate(sizes):
            yield f"size{number}_{at}", size

    def arguments(self) -> list[object]:
        """New memory for every kernel, and the scalars of its first call."""
        return [value for at in range(len(self.kernels)) for _, value in self._names(at)]

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.kernels))


def module(choices: Choices) -> Module:
    """The module that these decisions describe."""
    if choices.boolean(SHARE_OF_ORDERED):
        checkers = DEFAULT if choices.boolean(0.1) else ",".join(set(DEFAULT.split(",")) - {BOUNDS})
        return Module(tuple(ordered.generate(choices) for _ in range(KERNELS)), checkers)
    return Module(tuple(generate(choices, choices.integer(3, 14)) for _ in range(KERNELS)))


def judge(program: Module) -> Failure | None:
    """A failure is a finding, or whatever the checked program raised."""
    said = _said(program)
    if said is None or len(program.kernels) == 1:
        return said
    alone = [_said(Module((kernel,), program.checkers)) for kernel in program.kernels]
    return next((each for each in alone if each is not None), said)


def _said(program: Module) -> Failure | None:
    settings = override(debug=program.checkers, block_order="shuffled:7", cache=False)
    with settings, collecting() as collection, loaded(Program(program.source, "launch", ()), NAMES) as launch:
        arguments = program.arguments()
        try:
            triptych.compile(launch, *arguments, opt_level=0)(*arguments)
        except Exception as error:  # whatever it is: the program is right
            return Failure(f"raised {type(error).__name__}", f"{error}\n{program}")
    if not collection.findings:
        return None
    texts = [error_of(each).text() for each in collection.findings]
    return Failure(f"found {collection.findings[0].code}", "\n\n".join([*texts, str(program)]))


if __name__ == "__main__":
    sys.exit(run(__doc__, Fuzzer(module, judge)))
