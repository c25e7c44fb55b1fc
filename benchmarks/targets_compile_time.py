"""CPU seconds of compiling the plain kernel examples for AMD's chips and for OpenCL, beside those for NVIDIA.

    python -m benchmarks.targets_compile_time                     gfx942, gfx1100 and OpenCL beside sm_90a
    python -m benchmarks.targets_compile_time amdgpu:gfx950 --json

From Python to the code object, to PTX and cubin, or to a SPIR-V module: tracing, passes, LLVM in its worker, the linker
or NVIDIA's assembler. Times are CPU seconds of this process and of its workers for one compilation, after one of
another program that loads everything; no store is asked.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

import triptych as tt
from benchmarks.amd_programs import PLAIN, compiled
from benchmarks.compile_time import processor_seconds
from triptych import cute
from triptych.cute.runtime import make_fake_tensor
from triptych.support.config import override

NVIDIA = "nvptx:sm_90a"


@tt.kernel
def fill(y: cute.Tensor) -> None:
    y[cute.arch.thread_idx()[0]] = cute.arch.warp_reduction_sum(y[0])


@tt.jit
def warm_up(y: cute.Tensor) -> None:
    fill(y).launch(grid=1, block=64)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", default=["amdgpu:gfx942", "amdgpu:gfx1100", "spirv"])
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    targets = [NVIDIA, *given.targets]
    with override(cache=False):
        for target in targets:
            tt.compile(warm_up, make_fake_tensor(tt.Float32, (64,), (1,)), target=target)
        rows = {name: {target: seconds_of(name, target) for target in targets} for name in PLAIN}
    if given.json:
        print(json.dumps(rows, indent=1))
        return 0
    print(f"{'example':26}", *(f"{target:>16}" for target in targets))
    for name, row in rows.items():
        print(f"{name:26}", *(f"{row[target]:15.2f}s" for target in targets))
    sums = [sum(row[target] for row in rows.values()) for target in targets]
    print(f"{'all':26}", *(f"{total:15.2f}s" for total in sums))
    return 0


def seconds_of(name: str, target: str) -> float:
    """Of one compilation: a process keeps what it has compiled."""
    before = processor_seconds()
    compiled(name, target)
    return processor_seconds() - before


if __name__ == "__main__":
    sys.exit(main())
