"""A WGMMA, and the same with one rule of such products left out; blocks of a cluster likewise."""

from __future__ import annotations

from typing import Any

import numpy as np

import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import OperandMajorMode, warpgroup
from triptych.cute.runtime import from_dlpack
from triptych.utils import hopper_helpers

SIDE = 64


@tt.kernel
def product(
    a: cute.Tensor, d: cute.Tensor, mma: cute.TiledMma, layout: tt.Constexpr[Any], wrong: tt.Constexpr[str]
) -> None:
    thread, _, _ = cute.arch.thread_idx()
    shared = cute.SmemAllocator().allocate_tensor(tt.Float16, layout.outer, 1024, layout.inner)
    for i in range(thread, cute.size(a), 128):
        at = cute.idx2crd(i, a.shape)
        shared[at[0], at[1], 0] = a[at]
    if wrong != "fence_proxy":
        cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    part = mma.get_slice(0)
    left, right = mma.make_fragment_A(part.partition_A(shared)), mma.make_fragment_B(part.partition_B(shared))
    sums = mma.make_fragment_C(mma.get_slice(thread).partition_C(d))
    sums.fill(0.0)  # the sums
    mma.set(warpgroup.Field.ACCUMULATE, True)
    if wrong != "wgmma fence":
        warpgroup.fence()
    for k in tt.range_constexpr(cute.size(left, mode=[2])):
        cute.gemm(mma, sums, left[None, None, k, 0], right[None, None, k, 0], sums)  # the product
    if wrong != "wgmma commit":
        warpgroup.commit_group()
    if wrong == "factors overwritten":
        shared[thread % SIDE, 0, 0] = tt.Float16(0.0)  # the next factors
    if wrong != "wgmma wait":
        warpgroup.wait_group(0)
    cute.autovec_copy(sums, mma.get_slice(thread).partition_C(d))  # the result


@tt.jit
def run(
    a: cute.Tensor, d: cute.Tensor, mma: tt.Constexpr[Any], layout: tt.Constexpr[Any], wrong: tt.Constexpr[str]
) -> None:
    product(a, d, mma, layout, wrong).launch(grid=1, block=128)


def product_and_layout() -> tuple[Any, Any]:
    """The tiled product, and how its factors lie in shared memory."""
    major = OperandMajorMode.K
    mma = hopper_helpers.make_trivial_tiled_mma(
        tt.Float16, tt.Float16, major, major, tt.Float32, (1, 1, 1), (SIDE, SIDE)
    )
    atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW128, tt.Float16)
    return mma, cute.tile_to_shape(atom, (SIDE, SIDE, 1), (0, 1, 2))


def product_of(wrong: str) -> bool:
    """Whether the program, with one rule left out, multiplies."""
    a = np.random.default_rng(0).integers(-3, 4, (SIDE, SIDE)).astype(np.float16)
    d = np.zeros((SIDE, SIDE), np.float32)
    run(from_dlpack(a), from_dlpack(d), *product_and_layout(), wrong)
    expected = a.astype(np.float32) @ a.astype(np.float32).T
    return bool((d == expected).all())


@tt.kernel
def neighbours(out: cute.Tensor, wrong: tt.Constexpr[str]) -> None:
    """Each block of a cluster reads a number of the other."""
    shared = cute.make_tensor(cute.arch.alloc_smem(tt.Int32, 32), cute.make_layout(32))
    thread, _, _ = cute.arch.thread_idx()
    rank = cute.arch.block_idx_in_cluster()
    shared[thread] = rank * 100 + thread
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    theirs = cute.arch.map_dsmem_ptr(shared.iterator + thread, 1 - rank)  # the other block
    out[rank, thread] = theirs.load()
    if wrong != "cluster barrier":
        cute.arch.cluster_arrive()
        cute.arch.cluster_wait()


@tt.jit
def run_cluster(out: cute.Tensor, wrong: tt.Constexpr[str]) -> None:
    neighbours(out, wrong).launch(grid=2, block=32, cluster=(2, 1, 1))


def cluster_of(wrong: str) -> bool:
    """Whether blocks of a cluster read each other's numbers."""
    out = np.zeros((2, 32), np.int32)
    run_cluster(out, wrong)
    return bool((out == np.array([[100], [0]]) + np.arange(32)).all())
