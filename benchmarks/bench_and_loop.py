"""What `bench` prints beside a plain loop around the same kernel, for every kind of kernel file.

    python -m benchmarks.bench_and_loop [--seconds 1]

The loop calls what a user of the file would call: `kernel_fn`, `ModelNew`, or `plan` and the launch of the kernel that
it gives. `plan` is code of the file: it makes the output and describes the tensors, which takes longer than a small
kernel. Each file has a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns
from typing import Any

FILES = Path(__file__).parents[1] / "tests" / "support" / "contract_files"
NEED_TORCH = ("torch_scale", "mission_relu", "mission_plan", "kernelbench_scale")
_PROGRAM = (
    "import sys; from pathlib import Path; from benchmarks.bench_and_loop import serve; serve(Path({file!r}), {s})"
)
_ROUNDS, _CALLS = 60, 20


def both(file: Path, seconds: float) -> tuple[float, float]:
    """The smallest time that `bench` found, and the smallest of a plain loop, in seconds, in one new process."""
    program = _PROGRAM.format(file=str(file), s=seconds)
    folder = Path(__file__).parents[1]
    ran = subprocess.run([sys.executable, "-c", program], cwd=folder, stdout=subprocess.PIPE, check=True)
    told, loop = json.loads(ran.stdout.splitlines()[-1])
    return told, loop


def serve(file: Path, seconds: float) -> None:
    """Measure in turns, so that both meet the same machine, and print both."""
    from triptych.workbench.contracts.loading import load_contract  # noqa: PLC0415 - the parent needs none of it
    from triptych.workbench.measurement.benching import BenchOptions, bench  # noqa: PLC0415

    contract = load_contract(file)
    call = _plain_call(contract)
    told, loop = [], []
    for _ in range(3):
        loop.append(_loop(call))
        found = bench(contract, "default", {}, BenchOptions(seconds, cold=False, with_roofs=False))
        told.append(found["hot"]["minimum"])
        loop.append(_loop(call))
    print(json.dumps([min(told), min(loop)]))


def _plain_call(contract: Any) -> Callable[[], Any]:
    inputs = contract.inputs(0)
    module = sys.modules["triptych_contract"]
    if not hasattr(module, "PLAN"):
        return lambda: contract.kernel(*inputs)
    plan = module.PLAN
    return lambda: plan.plan(*inputs).launch_fn(plan.tiling)


def _loop(call: Callable[[], Any]) -> float:
    for _ in range(_CALLS):
        call()
    times = []
    for _ in range(_ROUNDS):
        started = perf_counter_ns()
        for _ in range(_CALLS):
            call()
        times.append((perf_counter_ns() - started) / _CALLS)
    return min(times) / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=1.0)
    chosen = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    with tempfile.TemporaryDirectory() as folder:
        for text in sorted(FILES.glob("*.txt")):
            if text.stem != "mission_script":
                file = Path(folder, f"{text.stem}.py")
                shutil.copy(text, file)
                told, loop = both(file, chosen.seconds)
                print(
                    f"{text.stem:20} bench {1e6 * told:8.2f} µs, loop {1e6 * loop:8.2f} µs, {told / loop:.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
