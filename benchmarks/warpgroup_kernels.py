"""Code for sm_90a of public programs with TMA and warpgroup products, without a GPU: what each kernel is made of.

    python -m benchmarks.warpgroup_kernels FOLDER            the folder of the public examples, which are not kept here
    python -m benchmarks.warpgroup_kernels FOLDER --json
    python -m benchmarks.warpgroup_kernels FOLDER -k dense   only programs with this in their names

Each program runs twice in a process of its own, with calls that do nothing: the second time is that of a process that
has compiled before. More instructions or registers than the peer has for the same program, spilled registers, and
remarks of the assembler make the run fail; so does a fence of the whole memory inside a loop.
"""

from __future__ import annotations

import argparse
import json
import logging
import re
import runpy
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.main_loops import compiled_programs
from triptych.compat import activate
from triptych.driver.listeners import LOGGER
from triptych.stages import Compiled
from triptych.support.config import override
from triptych.targets.nvptx.report.machine_code import loops, machine_instructions

TARGET = "nvptx:sm_90a"
_TUTORIALS = "cute/blackwell/tutorial/tutorial_tma"
_GEMMS = "cute/hopper/kernel/dense_gemm"
_LARGE = "--mnkl 8192,8192,8192,1 --tile_shape_mn 128,256"
PROGRAMS = {
    "tma_v0": f"{_TUTORIALS}/tma_v0.py",
    "tma_v1": f"{_TUTORIALS}/tma_v1.py",
    "tma_v2": f"{_TUTORIALS}/tma_v2.py",
    "dense_gemm": f"{_GEMMS}/dense_gemm.py",
    "dense_gemm 128x256": f"{_GEMMS}/dense_gemm.py {_LARGE}",
    "dense_gemm cluster": f"{_GEMMS}/dense_gemm.py --mnkl 4096,4096,1024,1 --cluster_shape_mn 2,1",
    "dense_gemm_persistent": f"{_GEMMS}/dense_gemm_persistent.py {_LARGE}",
    "dense_gemm_fp8_2xacc": f"{_GEMMS}/dense_gemm_fp8_2xacc.py",
    "dense_gemm_fp8_gelu_persistent": f"{_GEMMS}/dense_gemm_fp8_gelu_persistent.py",
    "fmha": "cute/hopper/kernel/attention/fmha.py",
    "grouped_gemm": "cute/hopper/kernel/grouped_gemm/grouped_gemm.py",
    "rmsnorm": "cute/blackwell/kernel/rmsnorm/rmsnorm.py",
}
MOST = {"dense_gemm": (711, 154, 0.74), "dense_gemm_persistent": (1023, 168, 1.36)}
"""The peer's instructions, registers and seconds."""
COUNTED = ("HGMMA", "UTMALDG", "UTMASTG", "WARPGROUP.ARRIVE", "WARPGROUP.DEPBAR")
_HELPER = "_convert"
"""A kernel of Triptych's own that fills tensors for programs."""


@dataclass(frozen=True, slots=True)
class Row:
    """One kernel of a program."""

    program: str
    instructions: int
    registers: int
    spilled: int
    remarks: tuple[str, ...]
    counts: dict[str, int]
    fences_in_loops: int
    """Instructions in loops that order the whole memory of the GPU."""
    seconds: float
    """From Python to the cubin."""

    @property
    def is_over(self) -> bool:
        instructions, registers, _ = MOST.get(self.program, (self.instructions, self.registers, 0.0))
        counted = self.instructions > instructions or self.registers > registers
        return counted or self.spilled > 0 or bool(self.remarks) or self.fences_in_loops > 0

    @property
    def cells(self) -> tuple[str, ...]:
        most = MOST.get(self.program)
        beside = [f" ({number})" if most else "" for number in most or ("", "", "")]
        return (
            self.program,
            f"{self.instructions}{beside[0]}",
            f"{self.registers}{beside[1]}",
            f"{self.seconds:.2f}{beside[2]}",
            str(self.spilled),
            *(str(self.counts[name]) for name in COUNTED),
            str(self.fences_in_loops),
            " ".join(remark.split()[0] for remark in self.remarks),
        )


HEADS = ("program", "instructions", "registers", "seconds", "spilled", *COUNTED, "fences in loops", "remarks")


def measured(name: str, folder: Path) -> list[Row]:
    """The kernels of a program that this process compiles."""
    script, *arguments = PROGRAMS[name].split()
    times: list[float] = []
    handler = _Times(times)
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    activate()
    sys.argv = [str(folder / script), *arguments]
    sys.path[:0] = [str((folder / script).parent)]
    for _ in range(2):
        times.clear()
        wrong = suppress(AssertionError, SystemExit)  # results that nobody has computed
        with override(target=TARGET, cache=False), compiled_programs() as found, redirect_stdout(sys.stderr), wrong:
            runpy.run_path(sys.argv[0], run_name="__main__")
        compiled = list(zip(found, times, strict=True))
    return [row for each, seconds in compiled for row in _rows(name, each, seconds)]


class _Times(logging.Handler):
    """Collects the times that are logged."""

    def __init__(self, times: list[float]) -> None:
        super().__init__()
        self._times = times

    def emit(self, record: logging.LogRecord) -> None:
        found = re.search(r"in ([\d.]+) ms", record.getMessage())
        if found:
            self._times.append(float(found[1]) / 1000)


def _rows(name: str, compiled: Compiled, seconds: float) -> Iterator[Row]:
    instructions = machine_instructions(compiled.views["cubin"]())
    sass = compiled.views["sass"]()
    counts = Counter({word: sass.count(word) for word in COUNTED})
    fences = max((loop.counts["MEMBAR.ALL.GPU"] for loop in loops(sass)), default=0)
    for kernel, used in compiled.views["resources"]().items():
        if kernel != _HELPER:
            spilled = used.spill_stores + used.spill_loads
            yield Row(name, instructions[kernel], used.registers, spilled, used.remarks, dict(counts), fences, seconds)


def in_a_process(name: str, folder: Path) -> list[Row]:
    """The same, by a new process; nothing where the program does not run yet, which is told."""
    words = [sys.executable, "-m", "benchmarks.warpgroup_kernels", str(folder), "--one", name]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        last = next((line for line in reversed(done.stderr.splitlines()) if "Error" in line), "no words")
        print(f"{name}: {last}", file=sys.stderr)
        return []
    return [Row(**{**each, "remarks": tuple(each["remarks"])}) for each in json.loads(done.stdout)]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("-k", dest="part", default="")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps([asdict(row) for row in measured(given.one, given.folder.resolve())]))
        return 0
    began = time.perf_counter()
    rows = [row for name in PROGRAMS if given.part in name for row in in_a_process(name, given.folder)]
    if given.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
    else:
        _print_table([HEADS, *(row.cells for row in rows)])
        print(f"{time.perf_counter() - began:.0f} s; beside a number, in parentheses, that of the peer")
    return int(any(row.is_over for row in rows))


def _print_table(rows: list[Any]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(map(str.ljust, row, widths)).rstrip())


if __name__ == "__main__":
    sys.exit(main())
