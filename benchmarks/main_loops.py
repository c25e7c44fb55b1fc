"""Where products of matrices spend their time: the loop of each kernel that computes most, and that with least else.

The figures of the best-known peer are of its public kernels on sm_80. Ours do the same with the same tiles, except
attention: a block of ours takes 64 queries, theirs 128, so only what is spilled can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from triptych.driver.listeners import COMPILE_LISTENERS
from triptych.stages import Compiled, Loaded
from triptych.targets.nvptx.report.machine_code import Loop, loops
from triptych.workbench.commands.compile_only import compiling_only


@contextmanager
def compiled_programs() -> Iterator[list[Compiled]]:
    """Every program that is compiled inside; calls of them do nothing."""
    found: list[Compiled] = []

    def watch(loaded: Loaded) -> Loaded:
        found.append(loaded.compiled)
        return loaded

    with compiling_only():
        COMPILE_LISTENERS.append(watch)
        try:
            yield found
        finally:
            COMPILE_LISTENERS.remove(watch)


@dataclass(frozen=True, slots=True)
class Bar:
    """What a kernel should not be worse than: of 100 instructions so many that compute, registers, bytes of stack."""

    computing: int
    registers: int
    stack: int
    milliseconds: float


EXAMPLES = ("sgemm", "tensor_core_gemm", "flash_attention")
"""The modules that the programs come from."""

_GEMM = Bar(41, 254, 0, 1100)
_ATTENTION = Bar(0, 255, 135, 3500)
BARS = {
    "sgemm": Bar(85, 128, 0, 800),
    "tensor-core gemm, f16": _GEMM,
    "tensor-core gemm, bf16": _GEMM,
    "tensor-core gemm, fp8": _GEMM,
    "flash attention": _ATTENTION,
    "flash attention, causal": _ATTENTION,
}

HEADS = (
    *("main loop of", "arch", "instructions", "computing", "of 100", "bar", "LDSM", "LDGSTS"),
    *("registers", "bar", "stack", "bar", "ms", "bar"),
)


@dataclass(frozen=True, slots=True)
class LoopRow:
    """The main loop of one program for one architecture."""

    program: str
    architecture: str
    instructions: int
    computing: int
    """Products of matrices, or of numbers where there are none."""
    matrix_loads: int
    copies: int
    registers: int
    stack: int
    milliseconds: float

    @property
    def share(self) -> float:
        return 100 * self.computing / self.instructions

    @property
    def is_over(self) -> bool:
        """The bars are for one architecture. Times depend on the machine: they are shown, and make nothing fail."""
        bar = BARS[self.program]
        worse = self.share < bar.computing or self.registers > bar.registers or self.stack > bar.stack
        return self.architecture == "sm_80" and worse

    @property
    def cells(self) -> tuple[str, ...]:
        bar = BARS[self.program]
        return (
            self.program,
            self.architecture,
            *map(str, (self.instructions, self.computing)),
            f"{self.share:.0f}",
            *map(str, (bar.computing, self.matrix_loads, self.copies, self.registers, bar.registers)),
            *map(str, (self.stack, bar.stack)),
            f"{self.milliseconds:.0f}",
            f"{bar.milliseconds:.0f}",
        )


def loop_rows(program: str, architecture: str, compiled: Any, milliseconds: float) -> Iterator[LoopRow]:
    """A row for what was compiled, if it has a loop."""
    loop = max(loops(compiled.__sass__), key=lambda loop: (computing(loop), -loop.size), default=None)
    if loop is None:
        return
    used = compiled.resources[loop.function]
    yield LoopRow(
        program,
        architecture,
        loop.size,
        computing(loop),
        loop.number_of("LDSM"),
        loop.number_of("LDGSTS"),
        used.registers,
        used.stack,
        milliseconds,
    )


def computing(loop: Loop) -> int:
    """Products of matrices, or of numbers where there are none."""
    return _matrix_products(loop) or loop.number_of("FFMA")


def _matrix_products(loop: Loop) -> int:
    return sum(number for name, number in loop.counts.items() if name.partition(".")[0].endswith("MMA"))
