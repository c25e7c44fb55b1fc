"""`cutlass.experimental.primitives`: single instructions that programs in CuTe DSL call in between."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.compat import primitives as prims
from triptych.cute.runtime import from_dlpack
from triptych.metastage.trace.errors import OperandTypeError


@tt.kernel
def registers_kernel(words: cute.Tensor, out: cute.Tensor) -> None:
    t, _, _ = cute.arch.thread_idx()
    word = words[t]
    out[t, 0] = tt.Uint32(prims.prmt(word, 0x4140, prims.PermuteMode.DEFAULT, hi=0))
    out[t, 1] = prims.mov_b32(tt.Float32(1.0), target_type=tt.Uint32)
    out[t, 2] = prims.redux_sync(tt.Int32(t) - 5, prims.ReductionKind.MIN, 0xFFFFFFFF).to(tt.Uint32)
    out[t, 3] = prims.redux_sync(tt.Int32(t) - 5, prims.ReductionKind.UMAX, 0xFFFFFFFF).to(tt.Uint32)


@tt.jit
def registers(words: cute.Tensor, out: cute.Tensor) -> None:
    registers_kernel(words, out).launch(grid=1, block=32)


def test_registers() -> None:
    words = np.arange(32, dtype=np.uint32) * 0x01020304
    out = np.zeros((32, 4), np.uint32)
    registers(from_dlpack(words), from_dlpack(out))
    bytes_of = words.view(np.uint8).reshape(32, 4).astype(np.uint32)
    np.testing.assert_array_equal(out[:, 0], bytes_of[:, 0] | bytes_of[:, 1] << 16)
    assert (out[:, 1] == 0x3F800000).all()
    assert (out[:, 2] == 2**32 - 5).all()
    assert (out[:, 3] == 2**32 - 1).all()


@tt.kernel
def remote_kernel(out: cute.Tensor) -> None:
    """Block 0 says block 1 that its number is there, through a barrier of block 1."""
    rank = cute.arch.block_idx_in_cluster()
    barrier = cute.arch.alloc_smem(tt.Int64, 1)
    thread, _, _ = cute.arch.thread_idx()
    if thread == 0:
        cute.arch.mbarrier_init(barrier, 1)
    cute.arch.mbarrier_init_fence()
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    if thread == 0:
        if rank == 0:
            prims.fence_sync_restrict(prims.MemOrder.RELEASE)
            there = prims.mapa(barrier.to_llvm_ptr(), 1)
            prims.mbarrier_arrive(there, scope=prims.MemScope.CLUSTER, relaxed=True)
        else:
            cute.arch.mbarrier_wait(barrier, 0)
            over = prims.mbarrier_wait_parity(
                barrier.to_llvm_ptr(),
                0,
                prims.MBarrierWait.TEST,
                scope=prims.MBarrierScope.CLUSTER,
                order=prims.MemOrder.ACQUIRE,
            )
            out[0] = tt.Int32(over)
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@tt.jit
def remote(out: cute.Tensor) -> None:
    remote_kernel(out).launch(grid=2, block=32, cluster=2)


def test_an_arrival_at_a_barrier_of_another_block() -> None:
    out = np.zeros(1, np.int32)
    remote(from_dlpack(out))
    assert out[0] == 1


@tt.kernel
def asked_kernel(out: cute.Tensor, what: tt.Constexpr[Any]) -> None:
    what(out)


@tt.jit
def asked(out: cute.Tensor, what: tt.Constexpr[Any]) -> None:
    asked_kernel(out, what).launch(grid=1, block=32)


@pytest.mark.parametrize(
    ("what", "text"),
    [
        (lambda out: prims.cp_async_bulk_global_shared_cta(out, out, 16), "without a tensor map"),
        (lambda out: prims.cp_reduce_async_bulk_global_shared_cta(out, out, 16, noftz=True), "without a tensor map"),
        (lambda out: prims.convert_and_pack_integer(1, 2, None), "not here yet"),
        (lambda out: prims.mov_b32(tt.Int64(1), target_type=tt.Float32), "32 bits"),
    ],
)
def test_what_is_not_here_says_so_when_it_is_called(what: Any, text: str) -> None:
    with pytest.raises(OperandTypeError, match=text):
        asked(from_dlpack(np.zeros(1, np.int32)), what)
