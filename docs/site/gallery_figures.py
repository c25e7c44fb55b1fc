"""Counted figures of an example kernel, and its stages: one block of its first launch runs on the PTX simulator.

Nothing is timed and no assembler is asked, so that every machine counts the same. Kernels with mathematical functions
need libdevice of CUDA to become PTX: where it is not installed, their figures are missing and the page says so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from triptych.objectstage.device_errors import MissingToolError
from triptych.ptxsim.arithmetic import UnknownInstructionError
from triptych.workbench.contracts.contract import parameters_of
from triptych.workbench.contracts.loading import load_contract
from triptych.workbench.costs.report import by_kind, by_line, waste
from triptych.workbench.costs.simulation import CostRun, counted

ARCHITECTURES = {"hopper_gemm": "sm_90a", "blackwell_gemm": "sm_100a"}
_USUAL = "sm_80"
_MOST_LINES = 60
_TRIMMED = re.compile(r"^\s*// .*\n|^\s*\.loc\b.*\n|^\$L__tmp\d+:\n", re.MULTILINE)


@dataclass(frozen=True)
class Figures:
    """What was counted of one block, by name, and the text of the kernel in MLIR and in PTX."""

    architecture: str
    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    counts: dict[str, int]
    kinds: dict[str, int]
    lines: tuple[tuple[int, int], ...]
    """Of each line of the source instructions and what is wasted: bank conflicts, sectors, turns of atomics."""
    mlir: str
    ptx: str


def figures(path: Path) -> Figures | str:
    """Of an example file, or why there are none."""
    contract = load_contract(path)
    inputs = contract.inputs(0, parameters_of(contract, ""))
    architecture = ARCHITECTURES.get(path.stem, _USUAL)
    try:
        with counted(architecture, _first) as run, redirect_stdout(StringIO()):
            contract.run(contract.kernel, inputs)
    except MissingToolError as error:
        return str(error).splitlines()[0].partition("] ")[2]
    except UnknownInstructionError as error:
        return f"the simulator does not execute `{str(error).split()[0]}`"
    return _of_run(run)


def _first(number: int) -> Sequence[int]:
    del number
    return (0,)


def _of_run(run: CostRun) -> Figures:
    launch = run.counting.launches[0]
    lines = by_line(launch)
    total = {
        "instructions of warps": sum(each.first.issued for each in lines),
        "requests of shared memory": sum(each.first.shared_requests for each in lines),
        "wavefronts": sum(each.first.wavefronts for each in lines),
        "bank conflicts": sum(each.first.conflicts for each in lines),
        "requests of global memory": sum(each.first.global_requests for each in lines),
        "sectors of 32 bytes": sum(each.first.sectors for each in lines),
        "bytes of them used": sum(each.first.bytes_used for each in lines),
        "bytes of shared memory": launch.shared_bytes,
    }
    compiled = run.compiled[0]
    name = launch.kernel.name
    return Figures(
        architecture=run.architecture,
        kernel=name,
        grid=tuple(launch.grid),
        block=tuple(launch.block),
        counts=total,
        kinds=dict(by_kind(launch)[0].most_common()),
        lines=tuple((each.first.issued, waste(each.first)) for each in lines if each.line is not None),
        mlir=excerpt(str(compiled.lowered.traced.module), rf"gpu\.func @{name}\b", "gpu.return"),
        ptx=excerpt(_TRIMMED.sub("", compiled.views["ptx"]()), rf"\.entry {name}\(", "ret;"),
    )


def excerpt(text: str, first: str, last: str) -> str:
    """From the line that matches to the next that contains `last`, the middle left out if there are many lines."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if re.search(first, line))
    end = next((i for i in range(start, len(lines)) if last in lines[i]), len(lines) - 1)
    found = lines[start : end + 1]
    half = _MOST_LINES // 2
    if len(found) > _MOST_LINES:
        left_out = f"... {len(found) - _MOST_LINES:,} lines"
        found = [*found[:half], left_out, *found[-half:]]
    return "\n".join(line.replace("\t", " ").rstrip() for line in found)
