"""Public programs for several GPUs on this CPU: each rank a process, each program with its own check.

    python -m benchmarks.distributed_programs FOLDER [--gpus 2,4] [--only lamport]

FOLDER is `examples/python/CuTeDSL` of the CUTLASS repository, none of which is here. A row says for each number of GPUs
how the program ended, and the first line that says why where it failed.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.third_party_scripts import outcome

PATIENCE = 900
"""Seconds for one program."""
_ONCE = "--warmup_iterations 0 --iterations 1"
_GEMM = "--mnkl 256,256,128,1 --mma_tiler_mn 128,128 --benchmark_or_test test"
PROGRAMS = {
    "all_reduce_simple": f"--M 64 --N 512 {_ONCE}",
    "all_reduce_tma": "--shape 128,256",
    "all_reduce_one_shot_lamport": f"--M 64 --N 512 {_ONCE}",
    "all_reduce_two_shot_multimem": f"--M 128 --N 512 {_ONCE}",
    "distributed_all_gather_gemm_blackwell": "--mnkl 512,256,128,1 --mma_tiler_mn 128,128",
    "distributed_gemm_all_reduce_blackwell": f"{_GEMM} --use_tma_store",
    "distributed_gemm_all_reduce_lamport_blackwell": f"{_GEMM} --use_tma_store",
    "distributed_gemm_all_reduce_ldxstmc_blackwell": _GEMM,
    "distributed_gemm_blockscaled_all_reduce_ldmcxstmc_blackwell": _GEMM,
    "distributed_gemm_reduce_scatter_blackwell": _GEMM.replace("256,256", "512,512"),
}
"""Each program and its arguments: small sizes."""
_FOLDER = "cute/blackwell/kernel/distributed"


def cell(program: Path, arguments: str, gpus: int) -> str:
    """How it ended: seconds, or why not."""
    options, settings = ("--gpus", str(gpus)), {"TRIPTYCH_GPU": "b200"}
    return ", ".join(outcome(program, PATIENCE, *arguments.split(), options=options, settings=settings))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--gpus", default="2,4", help="numbers of GPUs (default: %(default)s)")
    parser.add_argument("--only", default="", metavar="TEXT", help="programs whose name has it")
    given = parser.parse_args()
    counts = [int(count) for count in given.gpus.split(",")]
    print("| program |", *(f"{count} GPUs |" for count in counts))
    print("|---|" + "---|" * len(counts))
    for name, arguments in PROGRAMS.items():
        if given.only in name:
            cells = (cell(given.folder.resolve() / _FOLDER / f"{name}.py", arguments, count) for count in counts)
            print("|", name, "|", *(f"{cell} |" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
