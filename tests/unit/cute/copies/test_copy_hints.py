"""Hints of copies on the CPU: caches change nothing, and ordered copies hand data from one warp to another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import triptych as tt
from tests.ir.traced import traced_ir
from triptych import cute
from triptych.cute.nvgpu import CacheEvictionPriority, CopyG2ROp, CopyR2GOp, LoadCacheMode, MemoryOrder, MemoryScope
from triptych.cute.runtime import from_dlpack

THREADS, WARP = 64, 32


@tt.kernel
def hand_over(flag: cute.Tensor, data: cute.Tensor, out: cute.Tensor, orders: tt.Constexpr[Any]) -> None:
    """The second warp writes data and a flag; the first waits for the flag and reads the data."""
    thread, _, _ = cute.arch.thread_idx()
    load, store = (
        cute.make_copy_atom(op, tt.Int32, num_bits_per_copy=32, memory_order=order, memory_scope=MemoryScope.GPU)
        for op, order in zip((CopyG2ROp(), CopyR2GOp()), orders, strict=True)
    )
    raised = cute.make_rmem_tensor((1,), tt.Int32)
    if thread < WARP:
        cute.copy(load, flag, raised)
        while raised[0] == 0:
            cute.copy(load, flag, raised)
        out[thread] = data[thread]
    else:
        data[thread - WARP] = thread
        cute.arch.sync_warp()
        if thread == WARP:
            raised[0] = 1
            cute.copy(store, raised, flag)


@tt.jit
def handed_over(flag: cute.Tensor, data: cute.Tensor, out: cute.Tensor, orders: tt.Constexpr[Any]) -> None:
    hand_over(flag, data, out, orders).launch(grid=1, block=THREADS)


@pytest.mark.parametrize(
    "orders",
    [
        (MemoryOrder.ACQUIRE, MemoryOrder.RELEASE),
        (MemoryOrder.VOLATILE, MemoryOrder.VOLATILE),
        (MemoryOrder.SC, MemoryOrder.SC),
    ],
    ids=str,
)
def test_one_warp_waits_for_another(orders: tuple[MemoryOrder, MemoryOrder]) -> None:
    flag, data, out = np.zeros(1, np.int32), np.zeros(WARP, np.int32), np.zeros(WARP, np.int32)
    handed_over(from_dlpack(flag), data, out, orders)
    np.testing.assert_array_equal(out, np.arange(WARP, THREADS))


@tt.kernel
def copied(x: cute.Tensor, y: cute.Tensor, priority: tt.Constexpr[Any], mode: tt.Constexpr[Any]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    load = cute.make_copy_atom(CopyG2ROp(mode), tt.Float32, num_bits_per_copy=64)
    registers = cute.make_rmem_tensor((2,), tt.Float32)
    cute.copy(load, cute.zipped_divide(x, (2,))[None, thread], registers, l1c_evict_priority=priority)
    cute.autovec_copy(registers, cute.zipped_divide(y, (2,))[None, thread], l1c_evict_priority=priority)


@tt.jit
def copy_all(x: cute.Tensor, y: cute.Tensor, priority: tt.Constexpr[Any], mode: tt.Constexpr[Any]) -> None:
    copied(x, y, priority, mode).launch(grid=1, block=16)


@pytest.mark.parametrize("priority", [None, *CacheEvictionPriority])
@pytest.mark.parametrize("mode", [LoadCacheMode.ALWAYS, LoadCacheMode.STREAMING])
def test_caches_change_no_result(priority: Any, mode: LoadCacheMode) -> None:
    x, y = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    copy_all(x, y, priority, mode)
    np.testing.assert_array_equal(x, y)


def test_accesses_outside_the_copy_have_no_hints() -> None:
    @tt.kernel
    def kernel(x: cute.Tensor) -> None:
        atom = cute.make_copy_atom(CopyG2ROp(), tt.Float32, memory_order=MemoryOrder.VOLATILE)
        registers = cute.make_rmem_tensor((1,), tt.Float32)
        cute.copy(atom, cute.zipped_divide(x, (1,))[None, 0], registers)
        x[1] = x[2] + registers[0]

    @tt.jit
    def host(x: cute.Tensor) -> None:
        kernel(x).launch(grid=1, block=1)

    text = traced_ir(host, np.zeros(4, np.float32))
    assert text.count("triptych.order") == 1
