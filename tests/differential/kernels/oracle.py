"""The executions of a kernel, which agree to the bit.

They are the reference machine; code of the CPU, -O0 and -O3 and with checks; and PTX on the PTX simulator.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import triptych
from tests.differential.judge import Failure
from tests.differential.kernels.machine import run_reference
from tests.differential.kernels.program import NUMPY_TYPES, KernelProgram
from tests.differential.program import Program, loaded
from tests.support.ptx.unified import numpy_gpu
from tests.unit.targets.nvptx.tools import HAS_ASSEMBLER
from triptych import cute
from triptych.cute.nvgpu import cpasync
from triptych.cute.tensors.shared_memory import SmemAllocator
from triptych.support.config import override

Arrays = Mapping[str, NDArray[np.generic]]

NAMES: dict[str, Any] = {
    **{name: getattr(triptych, name) for name in (*NUMPY_TYPES, "Boolean")},
    "cute": cute,
    "cpasync": cpasync,
    "kernel": triptych.kernel,
    "jit": triptych.jit,
    "SmemAllocator": SmemAllocator,
    "range_constexpr": triptych.range_constexpr,
}
"""What the text of a generated program may name."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A call raised, or the program could not be compiled: never right, since the reference runs every program."""

    what: str
    kind: str
    message: str


Outcome = Arrays | Failed
Execution = Callable[[KernelProgram], list[Outcome]]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One execution differs from the reference in one call."""

    program: KernelProgram
    execution: str
    scalars: tuple[int, ...]
    expected: Arrays
    found: Outcome

    def kind(self) -> str:
        """What sort of difference it is, the same for every program that shows the same bug."""
        if isinstance(self.found, Failed):
            said = re.sub(r"\d+", "#", self.found.message.splitlines()[0])
            return f"{self.execution}: {self.found.what} {self.found.kind}: {said[:40]}"
        return f"{self.execution}: other values"

    def __str__(self) -> str:
        shown = [self.kind(), f"scalars {self.scalars}"]
        if isinstance(self.found, Failed):
            return "\n".join([*shown, self.found.message, str(self.program)])
        for name, right in self.expected.items():
            places = np.argwhere(~_same(right, self.found[name]))
            for place in map(tuple, places[:3]):
                shown.append(f"{name}{list(map(int, place))} is {self.found[name][place]}, not {right[place]}")
            if len(places) > 3:
                shown.append(f"... {len(places)} in all, of {right.size}")
        return "\n".join([*shown, str(self.program)])


def run_compiled(program: KernelProgram, opt_level: int) -> list[Outcome]:
    """Compile the program once and call it."""
    shape = (*program.grid, *program.block) if program.is_dynamic else ()
    outcomes: list[Outcome] = []
    with loaded(Program(program.source, "launch", ()), NAMES) as launch:
        try:
            arrays = [buffer.array() for buffer in program.buffers]
            compiled = triptych.compile(launch, *arrays, *program.calls[0], *shape, opt_level=opt_level)
        except Exception as error:
            return [Failed("refused", type(error).__name__, str(error))] * len(program.calls)
        for scalars in program.calls:
            memory = {buffer.name: buffer.array() for buffer in program.buffers}
            try:
                compiled(*memory.values(), *scalars, *shape)
            except Exception as error:
                outcomes.append(Failed("raised", type(error).__name__, str(error)))
            else:
                outcomes.append(memory)
    return outcomes


def run_checked(program: KernelProgram) -> list[Outcome]:
    """Compile with all checkers, none of which may find anything, and run the blocks in another order."""
    with override(debug="bounds,races,init", block_order="shuffled:7"):
        return run_compiled(program, opt_level=0)


def run_ptx(program: KernelProgram, architecture: str = "sm_80") -> list[Outcome]:
    """Compile for a GPU and run the PTX."""
    with numpy_gpu(architecture):
        return run_compiled(program, opt_level=3)


COMPARED: dict[str, Execution] = {
    "compiled -O0": partial(run_compiled, opt_level=0),
    "compiled -O3": partial(run_compiled, opt_level=3),
    "checked": run_checked,
}
if HAS_ASSEMBLER:
    COMPARED["PTX"] = run_ptx


def agree(program: KernelProgram) -> Disagreement | None:
    """Run all executions; return the first difference from the reference, or None."""
    expected = [run_reference(program, scalars) for scalars in program.calls]
    differences = (_difference(program, name, expected, execution(program)) for name, execution in COMPARED.items())
    return next((difference for difference in differences if difference is not None), None)


def differs(program: KernelProgram, name: str, found: Sequence[Outcome]) -> Disagreement | None:
    """The first difference of one execution from the reference."""
    return _difference(program, name, [run_reference(program, scalars) for scalars in program.calls], found)


def _difference(
    program: KernelProgram, name: str, expected: Sequence[Arrays], outcomes: Sequence[Outcome]
) -> Disagreement | None:
    for scalars, right, found in zip(program.calls, expected, outcomes, strict=True):
        if isinstance(found, Failed) or not all(_same(right[key], found[key]).all() for key in right):
            return Disagreement(program, name, scalars, right, found)
    return None


def judge(program: KernelProgram) -> Failure | None:
    """Judge in this process."""
    try:
        disagreement = agree(program)
    except Exception as error:
        return Failure(f"the reference itself failed: {type(error).__name__}", f"{error}\n{program}")
    return None if disagreement is None else Failure(disagreement.kind(), str(disagreement))


def _same(left: NDArray[np.generic], right: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Which elements have the same bits."""
    bits = f"u{left.dtype.itemsize}"
    equal: NDArray[np.bool_] = left.view(bits) == right.view(bits)
    return equal
