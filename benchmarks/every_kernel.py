"""Every kernel of the examples and of the tests, for every architecture: does the assembler accept it, and with what?

    python -m benchmarks.every_kernel                  registers of a thread; spilled bytes, if any, behind a plus
    python -m benchmarks.every_kernel sm_80 sm_90a     for some architectures
    python -m benchmarks.every_kernel --only warps     rows whose name has this text

No GPU is needed. A row of the tests' suite is a case: as many programs as it compiled while it ran on the CPU. A dash
says that the architecture lacks an instruction that the program asks for. Spills and refusals make the run fail.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from typing import Any

import triptych as tt
from tests.differential.kernel_suite.catalogue import CASES
from tests.differential.kernel_suite.recording import compilations, compiled_for
from tests.unit.targets.nvptx.passes.test_narrow_floats import FORMATS, scalars, vectors
from tests.unit.targets.nvptx.programs import EXAMPLES, MATRICES
from triptych.objectstage.device_errors import ArchitectureError
from triptych.support.errors import TriptychError, TriptychWarning
from triptych.targets.nvptx.description.architectures import ARCHITECTURES

LACKING, REFUSED = "-", "refused"
Compilation = Callable[[str], Any]
"""Compiles a program for a target, by its name."""


def _program(function: Any, arguments: Iterable[Any]) -> Compilation:
    given = tuple(arguments)
    return lambda target: tt.compile(function, *given, target=target)


def _example(make: Callable[[], tuple[Any, tuple[Any, ...]]]) -> Callable[[], list[Compilation]]:
    return lambda: [_program(*make())]


def _case(run: Callable[[], None]) -> Callable[[], list[Compilation]]:
    return lambda: [partial(compiled_for, job) for job in compilations(run)]


def _operations(dtype: Any) -> Callable[[], list[Compilation]]:
    return lambda: [_program(function, (0, 0, 0, dtype)) for function in (scalars, vectors)]


ROWS: dict[str, Callable[[], list[Compilation]]] = {
    **{f"example: {name}": _example(make) for name, make in {**EXAMPLES, **MATRICES}.items()},
    **{f"operations on {dtype.__name__}": _operations(dtype) for dtype in FORMATS},
    **{f"suite: {name}": _case(run) for name, run in CASES.items()},
}


def cell(programs: Sequence[Compilation], architecture: str) -> str:
    """The most registers that a kernel needs, and the bytes that all together spill."""
    registers, spilled, problem = 0, 0, ""
    for program in programs:
        try:
            used = program(f"nvptx:{architecture}").resources.values()
        except ArchitectureError:
            problem = problem or LACKING
            continue
        except TriptychError as error:
            print(error, file=sys.stderr)
            problem = REFUSED
            continue
        registers = max(registers, *(kernel.registers for kernel in used))
        spilled += sum(kernel.spill_stores + kernel.spill_loads for kernel in used)
    return problem or (f"{registers}+{spilled}" if spilled else str(registers))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("architectures", nargs="*", default=list(ARCHITECTURES), help="as sm_90a")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose name has this text")
    options = parser.parse_args()
    warnings.simplefilter("ignore", TriptychWarning)  # spills are in the table
    chosen = {name: make for name, make in ROWS.items() if options.only in name}
    width = max(map(len, chosen), default=0)
    line = f"{{:{width}}}  {{:>8}}" + "  {:>8}" * len(options.architectures)
    print(line.format("", "programs", *options.architectures), flush=True)
    fine = True
    for name, make in chosen.items():
        with redirect_stdout(StringIO()):  # programs that print while they are traced, or run
            programs = make()
            cells = [cell(programs, architecture) for architecture in options.architectures]
        print(line.format(name, len(programs), *cells), flush=True)
        fine = fine and all(found == LACKING or found.isdigit() for found in cells)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
