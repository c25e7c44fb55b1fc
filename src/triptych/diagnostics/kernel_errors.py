"""Errors of launches and of running kernels: shapes, barriers, warps, memory."""

from __future__ import annotations

from triptych.diagnostics.runtime_errors import CompiledCodeError


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


class MbarrierError(CompiledCodeError, RuntimeError):
    """An mbarrier that nobody has initialised, or that counts more arrivals or bytes than a phase of it can have."""

    code = "TT0626"
    failing = """
from triptych import cute

@tt.kernel
def arrives():
    barrier = cute.arch.alloc_smem(tt.Int64, 1)
    with cute.arch.elect_one():
        cute.arch.mbarrier_init(barrier, 1)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    cute.arch.mbarrier_arrive(barrier)
    cute.arch.mbarrier_wait(barrier, 0)

@tt.jit
def run():
    arrives().launch(grid=1, block=32)

run()
"""
    fixed = failing.replace("mbarrier_init(barrier, 1)", "mbarrier_init(barrier, 32)")


class ClusterError(CompiledCodeError, RuntimeError):
    """A block of a cluster that is not there or has ended, or a barrier of the cluster that is used out of turn."""

    code = "TT0627"
    failing = """
from triptych import cute

@tt.kernel
def waits():
    cute.arch.cluster_wait()

@tt.jit
def run():
    waits().launch(grid=2, block=32, cluster=(2, 1, 1))

run()
"""
    fixed = failing.replace(
        "    cute.arch.cluster_wait()", "    cute.arch.cluster_arrive()\n    cute.arch.cluster_wait()"
    )


class AsyncAccessError(CompiledCodeError, RuntimeError):
    """Shared memory is accessed that a copy or product under way needs, or not fenced before one (checking build)."""

    code = "TT0628"
    failing = """
import numpy as np

from triptych import cute
from triptych.cute.nvgpu import cpasync
from triptych.cute.runtime import from_dlpack
from triptych.support.config import override

@tt.kernel
def stores(atom: cute.CopyAtom, tensor: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    shared = cute.SmemAllocator().allocate_tensor(tt.Float32, cute.make_layout(32), 128)
    shared[thread] = 1.0
    cute.arch.sync_threads()
    here, there = cpasync.tma_partition(atom, 0, cute.make_layout(1), shared, cute.local_tile(tensor, (32,), (0,)))
    cute.copy(atom, here, there)
    cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0)

@tt.jit
def run(out: cute.Tensor):
    layout = cute.make_layout(32)
    atom, tensor = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), out, layout, (32,))
    stores(atom, tensor).launch(grid=1, block=32)

with override(debug="async"):
    run(from_dlpack(np.zeros(32, np.float32), assumed_align=16))
"""
    fixed = failing.replace(
        "    cute.arch.sync_threads()\n",
        "    cute.arch.fence_proxy('async.shared', space='cta')\n    cute.arch.sync_threads()\n",
    )


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
