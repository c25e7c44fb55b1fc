"""One product of matrices in steps from plain copies to a cluster: time on the CPU, and code for sm_90a.

    python -m benchmarks.asynchronous_steps                 f16, 512 x 512 x 512, sums in f32
    python -m benchmarks.asynchronous_steps --side 1024     another size
    python -m benchmarks.asynchronous_steps --rows          as rows of the guide's table

Results are checked first, exactly, because the factors are small integers. Rounds are interleaved, so that what else
the machine does meets all alike, and the best of each counts. On a busy machine TRIPTYCH_THREADS=1 and
OPENBLAS_NUM_THREADS=1 give steadier figures. No GPU is needed: the code is counted, not run. Spilled registers and
remarks of the assembler make the run fail.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.main_loops import compiled_programs
from tests.support.gemm_steps import STEPS, gemm, operand_of, small_integers
from triptych.support.config import override
from triptych.targets.nvptx.report.machine_code import loops, machine_instructions

TARGET = "nvptx:sm_90a"
ROUNDS = 40
COUNTED = ("LDG", "HMMA", "HGMMA", "UTMALDG", "DEPBAR", "BAR.SYNC", "SYNCS")
HEADS = ("step", "ms on the CPU", "instructions", "in the main loop", "registers", *COUNTED)
NUMPY = "NumPy, f32"


@dataclass(frozen=True, slots=True)
class Code:
    """What a step is made of."""

    instructions: int
    loop: int
    """Instructions of the loop with the products; its waits that need more than one try are loops inside of it."""
    registers: int
    spilled: int
    remarks: tuple[str, ...]
    counts: tuple[int, ...]


def code_of(step: str) -> Code:
    """Compile a step for sm_90a."""
    some = np.zeros((256, 256), np.float16)
    with override(target=TARGET, cache=False), compiled_programs() as found:
        gemm(operand_of(some), operand_of(some), operand_of(np.zeros((256, 256), np.float32)), step)
    [compiled] = found
    [(kernel, used)] = compiled.views["resources"]().items()
    sass = compiled.views["sass"]()
    main = next(loop for loop in loops(sass) if loop.number_of("HMMA") or loop.number_of("HGMMA"))
    return Code(
        machine_instructions(compiled.views["cubin"]())[kernel],
        main.size,
        used.registers,
        used.spill_stores + used.spill_loads,
        used.remarks,
        tuple(sass.count(f" {word}") + sass.count(f" WARPGROUP.{word}") for word in COUNTED),
    )


def times_of(side: int) -> dict[str, float]:
    """The smallest milliseconds of each step that was right, and of NumPy's product in f32."""
    x, w = small_integers(side, side, 0), small_integers(side, side, 1)
    wide_x, wide_w, exact = x.astype(np.float32), w.astype(np.float32).T, np.empty((side, side), np.float32)
    y = np.empty_like(exact)
    runs: dict[str, Callable[[], object]] = {NUMPY: partial(np.matmul, wide_x, wide_w, out=exact)}
    runs |= {step: partial(gemm, operand_of(x), operand_of(w), operand_of(y), step) for step in STEPS}
    for step, run in runs.items():
        y.fill(np.nan)
        run()
        assert step == NUMPY or np.array_equal(y, exact), f"{step}: a wrong result"
    times = {step: float("inf") for step in runs}
    for _ in range(ROUNDS):
        for step, run in runs.items():
            run()  # the threads of the one before may still spin
            started = time.perf_counter()
            run()
            times[step] = min(times[step], 1000 * (time.perf_counter() - started))
    return times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", type=int, default=512, help="a multiple of 256")
    parser.add_argument("--rows", action="store_true", help="print rows of a table of a page")
    given = parser.parse_args()
    codes = {step: code_of(step) for step in STEPS}
    times = times_of(given.side)
    figures = [
        (step, f"{times[step]:.2f}", code.instructions, code.loop, code.registers, *code.counts)
        for step, code in codes.items()
    ]
    rows = [[str(cell) for cell in row] for row in (HEADS, *figures)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print(f"| {' | '.join(row)} |" if given.rows else "  ".join(map(str.ljust, row, widths)).rstrip())
    print(f"{given.side}^3, load {os.getloadavg()[0]:.1f}; {NUMPY}: {times[NUMPY]:.2f} ms")
    wrong = {step: (code.spilled, code.remarks) for step, code in codes.items() if code.spilled or code.remarks}
    for step, (spilled, remarks) in wrong.items():
        print(f"{step}: {spilled} bytes spilled; {' '.join(remarks)}", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
