"""Exported kernels whose warps wait, and whose checks fail behind a wait: LLVM sees all functions of such a module."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import triptych as tt
from triptych import cute
from triptych.cute.runtime import load_module

THREADS = 128


@tt.kernel
def divides(x: cute.Tensor, y: cute.Tensor, n: tt.Int32) -> None:
    """Both halves of the block wait, and divide behind the wait."""
    thread, _, _ = cute.arch.thread_idx()
    shared = cute.SmemAllocator().allocate_tensor(tt.Int32, cute.make_layout(THREADS), 16)
    barrier = cute.SmemAllocator().allocate_array(tt.Int64, 1)
    if thread == 0:
        cute.arch.mbarrier_init(barrier, THREADS)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    if thread < THREADS // 2:
        cute.arch.mbarrier_arrive(barrier)
        cute.arch.mbarrier_wait(barrier, 0)
        y[thread] = x[thread] // n
    else:
        shared[thread] = x[thread] % n
        cute.arch.mbarrier_arrive(barrier)
        cute.arch.mbarrier_wait(barrier, 0)
        y[thread] = shared[thread] // (n + 1)
    cute.arch.sync_threads()


@tt.jit
def divide(x: cute.Tensor, y: cute.Tensor, n: tt.Int32) -> None:
    divides(x, y, n).launch(grid=1, block=THREADS)


def test_a_check_behind_a_wait(tmp_path: Path) -> None:
    """LLVM ended its process: the place of the failing thread was in a block that does not come before its uses."""
    x, y = np.arange(THREADS, dtype=np.int32) + 1, np.zeros(THREADS, np.int32)
    compiled = tt.compile(divide, x, y, 3)
    for opt_level in (1, 2, 3):
        file = tmp_path / f"divide{opt_level}.o"
        tt.compile(divide, x, y, 3, opt_level=opt_level).export_to_c(file, function_name="divide")
        assert file.stat().st_size > 0
    compiled.export_to_c(tmp_path, "divide", function_prefix="divide")
    compiled(x, y, 3)
    half = THREADS // 2
    assert y.tolist() == [*(x[:half] // 3), *(x[half:] % 3 // 4)]
    loaded, z = load_module(str(tmp_path / "divide2.o")), np.zeros_like(y)
    loaded["divide"](x, z, 3)
    assert z.tolist() == y.tolist()
