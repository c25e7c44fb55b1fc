"""Rewriting needs no MLIR, no LLVM, no NumPy: with all of them blocked, rewritten functions run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
for blocked in ("torch_mlir", "llvmlite", "numpy", "tvm_ffi", "torch", "triptych.ir"):
    sys.modules[blocked] = None

from triptych.hooks import PythonHooks
from triptych.prestage.rewrite import rewrite

def first_divisor(n):
    for i in range(2, n):
        if n % i == 0:
            return i
    else:
        return None

new = rewrite(first_divisor).bind(PythonHooks())
assert [new(n) for n in range(12)] == [first_divisor(n) for n in range(12)]
heavy = {"torch_mlir", "llvmlite", "numpy", "tvm_ffi", "torch", "triptych.ir", "triptych.metastage"}
print(sorted(name for name in heavy if sys.modules.get(name) is not None))
"""


def test_rewritten_functions_run_with_nothing_else_importable(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {"PYTHONPATH": ":".join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")
