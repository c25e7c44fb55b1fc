"""Time to the first result of a process: one that compiles, one that finds its programs, and bare Python with NumPy.

`python -m benchmarks.second_process [--rounds N] [--json]`; the fastest of the rounds counts. Processor time is that of
the process and of LLVM's, which it has waited for: a busy machine shows in the seconds and less in it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

BARE = """
import sys
import numpy as np
x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
y += 2 * x
"""
PROGRAM = """
import sys
import numpy as np
import triptych as tt
from triptych import cute

@tt.kernel
def saxpy_kernel(a: tt.Float32, x: cute.Tensor, y: cute.Tensor):
    i = cute.arch.block_idx()[0] * cute.arch.block_dim()[0] + cute.arch.thread_idx()[0]
    if i < x.shape[0]:
        y[i] = a * x[i] + y[i]

@tt.jit
def saxpy(a: tt.Float32, x: cute.Tensor, y: cute.Tensor):
    saxpy_kernel(a, x, y).launch(grid=(x.shape[0] + 127) // 128, block=128)

x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
saxpy(2.0, x, y)
"""
CHECK = """
assert float(y.sum()) == 1000.0 + 999 * 1000
import json
own = sum(name.partition(".")[0] == "triptych" for name in sys.modules)
compilers = [name for name in ("torch_mlir", "llvmlite") if name in sys.modules]
print(json.dumps({"modules": len(sys.modules), "own": own, "compilers": compilers}))
"""


def run(program: Path, store: Path) -> dict[str, Any]:
    """Wall-clock seconds of a whole process, and what it had imported at its end."""
    environment = {**os.environ, "TRIPTYCH_CACHE": "1", "TRIPTYCH_CACHE_DIR": str(store)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    started, before = time.perf_counter(), os.times()
    done = subprocess.run([sys.executable, str(program)], env=environment, capture_output=True, text=True, check=True)
    seconds, after = time.perf_counter() - started, os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return {"seconds": seconds, "processor": used, **json.loads(done.stdout)}


def measure(rounds: int) -> dict[str, dict[str, Any]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bare.py").write_text(BARE + CHECK)
        (folder / "program.py").write_text(PROGRAM + CHECK)
        run(folder / "program.py", folder / "other")  # bytecode is written, files are in memory
        run(folder / "program.py", folder / "store")
        kinds: dict[str, Callable[[int], dict[str, Any]]] = {
            "cold": lambda i: run(folder / "program.py", folder / f"empty{i}"),
            "warm": lambda _: run(folder / "program.py", folder / "store"),
            "bare": lambda _: run(folder / "bare.py", folder / "store"),
        }
        seen: dict[str, list[dict[str, Any]]] = {kind: [] for kind in kinds}
        for i in range(rounds):
            for kind, again in kinds.items():
                seen[kind].append(again(i))
    return {kind: min(found, key=lambda each: float(each["processor"])) for kind, found in seen.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    found = measure(chosen.rounds)
    if chosen.json:
        print(json.dumps(found))
        return
    for kind, facts in found.items():
        ratio = facts["processor"] / found["cold"]["processor"]
        names = ", ".join(facts["compilers"]) or "no compiler"
        print(
            f"{kind}: {facts['seconds']:.2f} s, {facts['processor']:.2f} s of processor ({ratio:.2f} of cold), ", end=""
        )
        print(f"{facts['modules']} modules, {facts['own']} of Triptych, {names}")


if __name__ == "__main__":
    main()
