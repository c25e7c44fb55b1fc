"""Launches are apart: an error that ends one leaves nothing behind, and those that run at once do not meet."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.cute.nvgpu import cpasync
from triptych.diagnostics.kernel_errors import MbarrierError
from triptych.sanitizer.findings import collecting
from triptych.support.config import override
from triptych.support.errors import TriptychError

THREADS = 64


@tt.kernel
def races_and_stops(wrong: cute.Tensor, out: cute.Tensor) -> None:
    """With `wrong` a race in shared memory, one between blocks, and then an index outside."""
    shared = cute.make_tensor(cute.arch.alloc_smem(tt.Int32, THREADS), cute.make_layout(THREADS))
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    shared[thread] = thread
    if wrong[0] == 0:
        cute.arch.sync_threads()
    found = shared[THREADS - 1 - thread]
    out[thread + THREADS * block * (1 - wrong[0]) + 1000 * wrong[0] * (block // 2)] = found


@tt.jit
def launched(wrong: cute.Tensor, out: cute.Tensor) -> None:
    races_and_stops(wrong, out).launch(grid=3, block=THREADS)


@tt.kernel
def leaves_numbers(out: cute.Tensor) -> None:
    shared = cute.make_tensor(cute.arch.alloc_smem(tt.Float32, 1024), cute.make_layout(1024))
    thread, _, _ = cute.arch.thread_idx()
    for i in range(1024 // 32):
        shared[32 * i + thread] = 1.0
    out[thread] = shared[thread]


@tt.kernel
def waits(out: cute.Tensor) -> None:
    cute.arch.mbarrier_wait(cute.arch.alloc_smem(tt.Int64, 1), 0)


@tt.jit
def numbers_then_barrier(out: cute.Tensor) -> None:
    leaves_numbers(out).launch(grid=1, block=32)
    waits(out).launch(grid=1, block=32)


def test_a_launch_after_one_that_was_ended_starts_fresh() -> None:
    wrong, out = np.ones(1, np.int32), np.zeros(3 * THREADS, np.int32)
    with override(debug="all"), collecting() as found:
        with pytest.raises(TriptychError, match="TT06"):
            launched(wrong, out)
        wrong[0] = 0
        launched(wrong, out)
    assert not found.findings
    assert (out.reshape(3, THREADS) == np.arange(THREADS)[::-1]).all()


@tt.kernel
def copies(stops: cute.Tensor, x: cute.Tensor, out: cute.Tensor) -> None:
    """With `stops` an index outside while a copy is under way."""
    thread, _, _ = cute.arch.thread_idx()
    shared = cute.make_tensor(cute.arch.alloc_smem(tt.Float32, 32, 16), cute.make_layout(32))
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), tt.Float32, num_bits_per_copy=32)
    cute.copy(atom, cute.local_tile(x, (1,), (thread,)), cute.local_tile(shared, (1,), (thread,)))
    out[thread + 1000 * stops[0]] = tt.Float32(0.0)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    out[thread] = shared[31 - thread]


@tt.jit
def copied(stops: cute.Tensor, x: cute.Tensor, out: cute.Tensor) -> None:
    copies(stops, x, out).launch(grid=1, block=32)


def test_copies_that_an_error_ended_are_not_under_way_in_the_next_launch() -> None:
    stops, x, out = np.ones(1, np.int32), np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    with override(debug="all", threads=1), collecting() as found:
        with pytest.raises(TriptychError, match="TT06"):
            copied(stops, x, out)
        stops[0] = 0
        copied(stops, x, out)
    assert not found.findings
    assert (out == x[::-1]).all()


def test_what_others_left_in_shared_memory_is_no_mbarrier() -> None:
    with override(debug="all"), pytest.raises(MbarrierError, match="nobody has initialised"):
        numbers_then_barrier(np.zeros(32, np.float32))


@tt.kernel
def adds(x: cute.Tensor, y: cute.Tensor) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    y[block * THREADS + thread] = x[block * THREADS + thread] + x[thread]


@tt.jit
def added(x: cute.Tensor, y: cute.Tensor) -> None:
    adds(x, y).launch(grid=256, block=THREADS)


def found_in_many_launches(_: int) -> int:
    x = np.arange(256 * THREADS, dtype=np.int32)
    y = np.zeros_like(x)
    with override(debug="global"), collecting() as found:
        for _ in range(60):
            added(x, y)
    assert (y == x + x % THREADS).all()
    return len(found.findings)


def test_launches_at_once_share_no_page() -> None:
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(found_in_many_launches, range(3))) == [0, 0, 0]
