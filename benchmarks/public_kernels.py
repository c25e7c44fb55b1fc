"""Compile time and code for NVIDIA GPUs, without a GPU, of eighteen sources that the best-known peer also compiles.

    python -m benchmarks.public_kernels FOLDER            the folder of the public examples, which are not kept here
    python -m benchmarks.public_kernels FOLDER --json
    python -m benchmarks.public_kernels FOLDER -k dense   only programs with this in their names

Each program runs several times in a process of its own, with calls that do nothing. CPU seconds are of all processes
that take part, from the call to the cubin: the first compilation of a process, with all that it loads, and the
shortest of those that follow. More instructions, registers or seconds than the bars, spilled registers, remarks of the
assembler, and a fence of the whole memory inside a loop make the run fail.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import runpy
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import triptych as tt
from benchmarks.main_loops import computing
from benchmarks.sass_programs.arguments import PORTS
from tests.unit.targets.nvptx.programs import EXAMPLES
from triptych.compat import activate
from triptych.cute.runtime import element_conversion
from triptych.driver.jitting import JitFunction
from triptych.driver.listeners import COMPILE_LISTENERS
from triptych.metastage.trace.loop_carried_attributes import TraceAgain
from triptych.metastage.trace.progress import Progress
from triptych.metastage.trace.trace import in_progress
from triptych.objectstage.device_errors import MissingToolError
from triptych.stages import Compiled, Loaded
from triptych.support.config import override
from triptych.targets.nvptx.report.machine_code import loops, machine_instructions
from triptych.workbench.commands.compile_only import compiling_only

_ONCE = "--warmup_iterations 0 --iterations 1 --skip_ref_check"
_TUTORIALS = "cute/blackwell/tutorial/tutorial_tma"
_TMA = "--M 256 --N 256 --num_warmup 0 --num_iters 1"
_AMPERE = "cute/ampere/kernel"
_HOPPER = "cute/hopper/kernel"
_GEMMS = f"{_HOPPER}/dense_gemm"
_SMALL = f"--mnkl 512,512,512,1 {_ONCE}"
_LARGE = f"--tile_shape_mn 128,256 {_SMALL}"
_UMMA = f"cute/blackwell/kernel/dense_gemm/dense_gemm.py --ab_dtype Float16 --c_dtype Float16 --use_tma_store {_ONCE}"
_PAIR = "--use_2cta_instrs --mma_tiler_mn 256,128 --cluster_shape_mn 2,1"
_ATTENTION = f"--batch_size 1 --seqlen_q 256 --seqlen_k 256 --num_head 1 {_ONCE}"
PROGRAMS = {
    "hello": "sm_80 hello",
    "vector add": "sm_80 port: vector add",
    "relu": "sm_80 port: relu",
    "elementwise_add": f"sm_80 {_AMPERE}/elementwise/elementwise_add.py {_ONCE}",
    "sgemm": f"sm_80 {_AMPERE}/dense_gemm/sgemm.py {_ONCE}",
    "tensorop_gemm": f"sm_80 {_AMPERE}/dense_gemm/tensorop_gemm.py {_ONCE}",
    "flash_attention_v2": f"sm_80 {_AMPERE}/attention/flash_attention_v2.py {_ATTENTION}",
    "rmsnorm": f"sm_90a cute/blackwell/kernel/rmsnorm/rmsnorm.py --M 64 {_ONCE}",
    "tma_v0": f"sm_90a {_TUTORIALS}/tma_v0.py {_TMA}",
    "tma_v1": f"sm_90a {_TUTORIALS}/tma_v1.py {_TMA}",
    "dense_gemm": f"sm_90a {_GEMMS}/dense_gemm.py {_SMALL}",
    "dense_gemm 128x256": f"sm_90a {_GEMMS}/dense_gemm.py {_LARGE}",
    "dense_gemm_persistent": f"sm_90a {_GEMMS}/dense_gemm_persistent.py {_LARGE}",
    "dense_gemm_fp8_2xacc": f"sm_90a {_GEMMS}/dense_gemm_fp8_2xacc.py {_SMALL}",
    "grouped_gemm": f"sm_90a {_HOPPER}/grouped_gemm/grouped_gemm.py --problem_sizes_mnkl (512,512,512,1) {_ONCE}",
    "fmha": f"sm_90a {_HOPPER}/attention/fmha.py {_ONCE}",
    "umma dense_gemm": f"sm_100a {_UMMA}",
    "umma dense_gemm pair": f"sm_100a {_UMMA} {_PAIR}",
}
"""The architecture, then a script of the folder with its arguments, or a program of the tests or of `sass_programs`."""


@dataclass(frozen=True, slots=True)
class Peer:
    """The peer's figures for the same source, where they are known: CPU seconds, instructions, registers, main loop."""

    cold: float | None = None
    warm: float | None = None
    instructions: int | None = None
    registers: int | None = None
    loop: int | None = None


PEERS = {
    "hello": Peer(0.09, 0.08),
    "vector add": Peer(0.17, 0.16, 64, 22),
    "relu": Peer(0.16, None, 57, 18),
    "elementwise_add": Peer(None, 0.24, 332, 71),
    "sgemm": Peer(None, 1.17, None, 128),
    "tensorop_gemm": Peer(None, 1.33, None, 254),
    "flash_attention_v2": Peer(None, 4.22, None, 255),
    "rmsnorm": Peer(0.32, 0.41, 627, 56),
    "tma_v1": Peer(0.45),
    "dense_gemm": Peer(0.93, 0.92, 711, 154),
    "dense_gemm 128x256": Peer(None, 0.79),
    "dense_gemm_persistent": Peer(None, 2.27, 1023, 168, 51),
    "dense_gemm_fp8_2xacc": Peer(loop=284),
    "grouped_gemm": Peer(None, 3.20, None, None, 62),
    "umma dense_gemm": Peer(None, 0.46, 640, 39),
    "umma dense_gemm pair": Peer(None, 0.50, 819, 43),
}
COLD, WARM = 1.0, 0.6
"""Of the peer's seconds, what the first compilation of a process may take and what others may."""
COUNTED = ("HGMMA", "UTMALDG", "UTMASTG", "WARPGROUP.ARRIVE", "WARPGROUP.DEPBAR", "UTCHMMA", "UTCBAR", "LDTM")
_RUNS = 4


@dataclass(frozen=True, slots=True)
class Row:
    """One kernel of a program."""

    program: str
    architecture: str
    cold: float
    """CPU seconds of the first compilation of a process, from Python to the cubin."""
    warm: float
    operations: int
    """That tracing has emitted, those of loops that were traced again included."""
    restarts: int
    """Loops that were traced again."""
    llvm: int
    """Bytes of LLVM IR."""
    instructions: int
    registers: int
    spilled: int
    loop: int
    """Instructions of the loop of which the largest share computes; 0 if there is none."""
    remarks: tuple[str, ...]
    counts: dict[str, int]
    fences_in_loops: int
    """Instructions in loops that order the whole memory of the GPU."""

    @property
    def over(self) -> list[str]:
        """The names of figures that are over their bars."""
        peer, wrong = PEERS.get(self.program, Peer()), []
        bars = {name: getattr(peer, name) for name in ("cold", "warm", "instructions", "registers", "loop")}
        factors = {"cold": COLD, "warm": WARM}
        for name, bar in bars.items():
            if bar is not None and getattr(self, name) > bar * factors.get(name, 1):
                wrong.append(name)
        free_of = {"spilled": self.spilled, "remarks": self.remarks, "fences": self.fences_in_loops}
        return [*wrong, *(name for name, found in free_of.items() if found)]

    @property
    def cells(self) -> tuple[str, ...]:
        peer = PEERS.get(self.program, Peer())
        return (
            self.program,
            self.architecture,
            *_beside(f"{self.cold:.2f}", peer.cold, self.cold),
            *_beside(f"{self.warm:.2f}", peer.warm, self.warm),
            *map(str, (self.operations, self.restarts, self.llvm)),
            *_beside(str(self.instructions), peer.instructions, self.instructions),
            *_beside(str(self.registers), peer.registers),
            str(self.spilled),
            *_beside(str(self.loop), peer.loop),
            " ".join(self.over),
        )


HEADS = (
    *("program", "arch", "cold", "peer", "ratio", "warm", "peer", "ratio", "operations", "restarts", "LLVM"),
    *("SASS", "peer", "ratio", "registers", "peer", "spilled", "loop", "peer", "over"),
)


def _beside(cell: str, peer: float | None, own: float | None = None) -> tuple[str, ...]:
    theirs = "" if peer is None else str(peer)
    if own is None:
        return cell, theirs
    return cell, theirs, "" if peer is None else f"{own / peer:.2f}"


def measured(name: str, folder: Path) -> list[Row]:
    """The kernels of a program that this process compiles."""
    architecture, _, what = PROGRAMS[name].partition(" ")
    runs: list[list[Compilation]] = []
    for _ in range(_RUNS):
        wrong = suppress(AssertionError, SystemExit)  # results that nobody has computed
        chosen = override(target=f"nvptx:{architecture}", cache=False)
        with chosen, compilations() as found, redirect_stdout(sys.stderr), wrong:
            _run(what, folder)
        runs.append(found)
    return [row for made in zip(*runs, strict=True) for row in _rows(name, architecture, made)]


def _run(what: str, folder: Path) -> None:
    """A script as it is, or a program compiled."""
    if ".py" not in what:
        function, arguments = {**EXAMPLES, **PORTS}[what]()
        tt.compile(function, *arguments, no_cache=True)
        return
    activate()
    # What fills tensors of programs would be the first compilation of the process.
    element_conversion.convert = lambda *_: None  # type: ignore[assignment]
    script, *words = what.split()
    sys.argv = [str(folder / script), *words]
    sys.path[:0] = [str((folder / script).parent)]
    runpy.run_path(sys.argv[0], run_name="__main__")


@dataclass(slots=True)
class Compilation:
    """What was compiled, and what it took."""

    compiled: Compiled
    seconds: float
    operations: int
    restarts: int


@contextmanager
def compilations() -> Iterator[list[Compilation]]:
    """Every program that is compiled inside; calls of them do nothing."""
    found: list[Compilation] = []
    counter = _Counter()

    def watch(loaded: Loaded) -> Loaded:
        found.append(Compilation(loaded.compiled, cpu_seconds() - counter.began, counter.operations, counter.restarts))
        return loaded

    with compiling_only(), counter.watching():
        COMPILE_LISTENERS.insert(0, watch)
        try:
            yield found
        finally:
            COMPILE_LISTENERS.remove(watch)


class _Counter:
    """What tracing has done since the last call of a function that is not compiled yet."""

    def __init__(self) -> None:
        self.began = 0.0
        self.operations = self.restarts = 0

    @contextmanager
    def watching(self) -> Iterator[None]:
        bind, finish, again = JitFunction._bind, Progress.finish, TraceAgain.__init__

        def binding(*args: Any, **kwargs: Any) -> Any:
            if in_progress() is None:
                self.began, self.operations, self.restarts = cpu_seconds(), 0, 0
            return bind(*args, **kwargs)

        def finishing(progress: Progress) -> None:
            self.operations += progress.emitted
            finish(progress)

        def beginning_again(error: TraceAgain, *args: Any) -> None:
            self.restarts += 1
            again(error, *args)

        patches = (
            patch.object(JitFunction, "_bind", binding),
            patch.object(Progress, "finish", finishing),
            patch.object(TraceAgain, "__init__", beginning_again),
        )
        with patches[0], patches[1], patches[2]:
            yield


def cpu_seconds() -> float:
    """Of this process, of its children that have ended and of those that live: workers and assemblers."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = sum(each.ru_utime + each.ru_stime for each in used)
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    for child in children:
        with suppress(FileNotFoundError):
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            seconds += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return seconds


def _rows(name: str, architecture: str, made: Sequence[Compilation]) -> Iterator[Row]:
    last, sass = made[-1], ""
    instructions = machine_instructions(last.compiled.views["cubin"]())
    with suppress(MissingToolError):  # without a disassembler nothing is known of loops
        sass = last.compiled.views["sass"]()
    counts = Counter({word: sass.count(word) for word in COUNTED})
    found = loops(sass)
    fences = max((loop.counts["MEMBAR.ALL.GPU"] for loop in found), default=0)
    for kernel, used in last.compiled.views["resources"]().items():
        own = [loop for loop in found if loop.function == kernel]
        main = max(own, key=lambda loop: (computing(loop) / loop.size, -loop.size), default=None)
        yield Row(
            name,
            architecture,
            made[0].seconds,
            min(each.seconds for each in made[1:]),
            last.operations,
            last.restarts,
            len(last.compiled.lowered.llvm),
            instructions[kernel],
            used.registers,
            used.spill_stores + used.spill_loads,
            main.size if main is not None and computing(main) else 0,
            used.remarks,
            dict(counts),
            fences,
        )


def in_a_process(name: str, folder: Path) -> list[Row]:
    """The same, by a new process; nothing where the program does not run yet, which is told."""
    words = [sys.executable, "-m", "benchmarks.public_kernels", str(folder), "--one", name]
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
        print(f"{time.perf_counter() - began:.0f} s; bars: {COLD} of the peer's seconds cold, {WARM} warm")
    return int(any(row.over for row in rows))


def _print_table(rows: list[Any]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(map(str.ljust, row, widths)).rstrip())


if __name__ == "__main__":
    sys.exit(main())
