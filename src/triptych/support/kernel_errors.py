"""Errors of launches and of running kernels: shapes, barriers, warps, memory."""

from __future__ import annotations

from triptych.support.runtime_errors import CompiledCodeError


class LaunchShapeError(CompiledCodeError, ValueError):
    """A grid or a block that no launch can have, or more shared memory than a block has."""

    code = "TT0620"
    failing = """
@tt.kernel
def k():
    pass

@tt.jit
def host(threads: tt.Int32):
    k().launch(grid=1, block=threads)

host(2000)
"""
    fixed = """
@tt.kernel
def k():
    pass

@tt.jit
def host(threads: tt.Int32):
    k().launch(grid=2, block=threads)

host(1000)
"""


class DivergentBarrierError(CompiledCodeError, RuntimeError):
    """Threads of a block wait at a barrier that other threads of the block do not come to."""

    code = "TT0621"
    failing = """
from triptych import cute

@tt.kernel
def half():
    tidx, _, _ = cute.arch.thread_idx()
    if tidx < 16:
        cute.arch.sync_threads()
    cute.printf("thread %d", tidx)

@tt.jit
def run():
    half().launch(grid=1, block=32)

run()
"""
    fixed = """
from triptych import cute

@tt.kernel
def whole():
    tidx, _, _ = cute.arch.thread_idx()
    cute.arch.sync_threads()
    if tidx < 2:
        cute.printf("thread %d", tidx)

@tt.jit
def run():
    whole().launch(grid=1, block=32)

run()
"""


class DeadlockError(CompiledCodeError, RuntimeError):
    """The warps of a block wait for each other and none can go on."""

    code = "TT0622"
    failing = """
from triptych import cute

@tt.kernel
def waits():
    if cute.arch.warp_idx() == 0:
        cute.arch.barrier(barrier_id=1, number_of_threads=64)

@tt.jit
def run():
    waits().launch(grid=1, block=64)

run()
"""
    fixed = """
from triptych import cute

@tt.kernel
def waits():
    if cute.arch.warp_idx() == 0:
        cute.arch.barrier(barrier_id=1, number_of_threads=64)
    else:
        cute.arch.barrier_arrive(barrier_id=1, number_of_threads=64)

@tt.jit
def run():
    waits().launch(grid=1, block=64)

run()
"""


class PartialWarpError(CompiledCodeError, RuntimeError):
    """Only some threads of a warp execute an instruction of the whole warp."""

    code = "TT0623"
    failing = """
from triptych import cute
from triptych.cute.nvgpu import warp

@tt.kernel
def half():
    tidx, _, _ = cute.arch.thread_idx()
    mma = cute.make_tiled_mma(warp.MmaF16BF16Op(tt.Float16, tt.Float32, (16, 8, 16)))
    a, b = mma.make_fragment_A((8,)), mma.make_fragment_B((4,))
    sums = mma.make_fragment_C((4,))
    sums.fill(0.0)
    if tidx < 16:
        cute.gemm(mma, sums, a, b, sums)

@tt.jit
def run():
    half().launch(grid=1, block=32)

run()
"""
    fixed = """
from triptych import cute
from triptych.cute.nvgpu import warp

@tt.kernel
def whole():
    mma = cute.make_tiled_mma(warp.MmaF16BF16Op(tt.Float16, tt.Float32, (16, 8, 16)))
    a, b = mma.make_fragment_A((8,)), mma.make_fragment_B((4,))
    sums = mma.make_fragment_C((4,))
    sums.fill(0.0)
    cute.gemm(mma, sums, a, b, sums)

@tt.jit
def run():
    whole().launch(grid=1, block=32)

run()
"""


class BlockMemoryError(CompiledCodeError, MemoryError):
    """One block of a kernel needs more memory than the target has for it."""

    code = "TT0624"
    failing = """
from triptych import cute

@tt.kernel
def keeps(out: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    own = cute.make_rmem_tensor(1 << 17, tt.Float32)
    for i in range(1 << 17):
        own[i] = float(i)
    cute.arch.sync_threads()
    out[thread] = own[thread * 2]

@tt.jit
def run(out: cute.Tensor):
    keeps(out).launch(grid=1, block=1024)

import numpy as np
run(np.zeros(1024, np.float32))
"""
    fixed = """
from triptych import cute

@tt.kernel
def keeps(out: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    own = cute.make_rmem_tensor(1 << 9, tt.Float32)
    for i in range(1 << 9):
        own[i] = float(i)
    cute.arch.sync_threads()
    out[thread] = own[thread // 2]

@tt.jit
def run(out: cute.Tensor):
    keeps(out).launch(grid=1, block=1024)

import numpy as np
run(np.zeros(1024, np.float32))
"""


class DSLCudaRuntimeError(RuntimeError):
    """What public programs catch where CUDA refuses something; `error_code` is CUDA's number for the reason."""

    __module__ = "triptych"
    error_code: int = 999
    """CUDA's `cudaErrorUnknown`."""


class CooperativeLaunchError(CompiledCodeError, DSLCudaRuntimeError):
    """A cooperative launch has more blocks than can run at the same time, so that some would wait for ever."""

    code = "TT0625"
    error_code = 720
    """CUDA's `cudaErrorCooperativeLaunchTooLarge`."""
    failing = """
@tt.kernel
def k():
    pass

@tt.jit
def host(blocks: tt.Int32):
    k().launch(grid=blocks, block=1024, cooperative=True)

host(10_000)
"""
    fixed = failing.replace("10_000", "8")
