"""The end of a program that has used the compiler is the end that Python gives it: its objects are finalized."""

from __future__ import annotations

from pathlib import Path

from tests.integration.subprograms import run

OBJECT = """
class Noticed:
    def __del__(self):
        print("finalized", __name__)


noticed = Noticed()
"""
KERNEL = """
import numpy as np
import triptych as tt
from triptych import cute


@tt.jit
def double(n: tt.Int32):
    return n + n


@tt.kernel
def fill(x: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    x[t] = 1.0


@tt.jit
def launch(x: cute.Tensor):
    fill(x).launch(grid=(2, 1, 1), block=(4, 1, 1))
"""
CALLS = """
import beside

x = np.zeros(8, np.float32)
launch(x)
kept = tt.compile(double, 3)
beside.double(kept(3))
"""


def test_objects_of_the_program_are_finalized(tmp_path: Path) -> None:
    """Of the main module, and of one that it imports: compiled now, and found in the store."""
    (tmp_path / "beside.py").write_text(f"{KERNEL}\n{OBJECT}")
    (tmp_path / "program.py").write_text(f"{KERNEL}{CALLS}{OBJECT}")
    for _ in range(2):
        done = run(str(tmp_path / "program.py"), TRIPTYCH_CACHE="1", TRIPTYCH_CACHE_DIR=str(tmp_path / "store"))
        assert sorted(done.stdout.splitlines()) == ["finalized __main__", "finalized beside"], done.stderr
