"""Cooperative launches on the CPU: every block of the grid runs while any does, so blocks may wait for each other."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.diagnostics.kernel_errors import CooperativeLaunchError, DSLCudaRuntimeError
from triptych.diagnostics.runtime_errors import OutOfBoundsError
from triptych.support.config import override
from triptych.targets.cpu.passes.lower_launch import MOST_TOGETHER


@tt.jit
def meet(counter: cute.Pointer, blocks: tt.Int32, visit: tt.Int32) -> None:
    """A barrier of the whole grid: one thread of each block arrives and waits."""
    if cute.arch.thread_idx()[0] == 0:
        cute.arch.atomic_add(counter, 1)
        arrived = cute.arch.atomic_add(counter, 0)
        while arrived < visit * blocks:
            arrived = cute.arch.atomic_add(counter, 0)
    cute.arch.sync_threads()


@cute.kernel
def rotate(counter: cute.Tensor, rows: cute.Tensor, count: tt.Int32) -> None:
    """In each turn a block adds what its neighbour had in the last one: right only if all turns are in step."""
    block, thread, blocks = cute.arch.block_idx()[0], cute.arch.thread_idx()[0], cute.arch.grid_dim()[0]
    shared = cute.SmemAllocator().allocate_tensor(tt.Int32, cute.make_layout(32))
    for turn in range(count):
        shared[thread] = rows[turn, (block + 1) % blocks, thread]
        cute.arch.sync_threads()
        rows[turn + 1, block, thread] = rows[turn, block, thread] + shared[31 - thread]
        meet(counter.iterator, blocks, turn + 1)


@cute.jit
def run(counter: cute.Tensor, rows: cute.Tensor, count: tt.Int32, blocks: tt.Int32) -> None:
    rotate(counter, rows, count).launch(grid=blocks, block=32, cooperative=True)


def rotated(blocks: int, count: int) -> None:
    rows = np.zeros((count + 1, blocks, 32), np.int32)
    rows[0] = np.random.default_rng(blocks).integers(0, 100, (blocks, 32))
    run(np.zeros(1, np.int32), rows, count, blocks)
    expected = rows[0].copy()
    for turn in range(count):
        expected = expected + np.roll(expected, -1, axis=0)[:, ::-1]
        assert np.array_equal(rows[turn + 1], expected)


@pytest.mark.parametrize("blocks", [1, 2, 3, 16, 200])
def test_all_blocks_run_at_the_same_time(blocks: int) -> None:
    rotated(blocks, 6)


@pytest.mark.parametrize("order", ["", "shuffled:3"])
@pytest.mark.parametrize("threads", [1, 3])
def test_however_many_threads_the_pool_has(threads: int, order: str) -> None:
    with override(threads=threads, block_order=order):
        rotated(9, 4)


def test_several_at_once() -> None:
    failures: list[Exception] = []

    def work() -> None:
        try:
            rotated(12, 5)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize("blocks", [MOST_TOGETHER + 1, 10_000])
def test_a_grid_that_is_too_large_is_refused_at_the_launch(blocks: int) -> None:
    rows = np.zeros((1, 1, 32), np.int32)
    with pytest.raises(CooperativeLaunchError) as raised:
        run(np.zeros(1, np.int32), rows, 0, blocks)
    assert raised.value.span is not None
    assert "cooperative=True" in raised.value.span.text()
    assert isinstance(raised.value, DSLCudaRuntimeError)
    assert raised.value.error_code == 720


@cute.kernel
def fail_in_one(counter: cute.Tensor, out: cute.Tensor) -> None:
    block, blocks = cute.arch.block_idx()[0], cute.arch.grid_dim()[0]
    if block == 3:
        assert out[0] == 1, "the third block fails"
    meet(counter.iterator, blocks, 1)
    out[block] = 2


@cute.jit
def launch_failing(counter: cute.Tensor, out: cute.Tensor) -> None:
    fail_in_one(counter, out).launch(grid=6, block=64, cooperative=True)


def test_a_fault_in_one_block_ends_those_that_wait_for_it() -> None:
    out = np.zeros(6, np.int32)
    with pytest.raises(AssertionError, match="the third block fails"):
        launch_failing(np.zeros(1, np.int32), out)
    assert out.tolist() == [0] * 6
    rotated(5, 2)


@cute.kernel
def say(counter: cute.Tensor) -> None:
    blocks = cute.arch.grid_dim()[0]
    meet(counter.iterator, blocks, 1)
    if cute.arch.thread_idx()[0] == 0:
        cute.printf("block %d of %d\n", cute.arch.block_idx()[0], blocks)


def test_blocks_print(capfd: pytest.CaptureFixture[str]) -> None:
    @cute.jit
    def launch(counter: cute.Tensor) -> None:
        say(counter).launch(grid=7, block=64, cooperative=True)

    launch(np.zeros(1, np.int32))
    assert sorted(capfd.readouterr().out.splitlines()) == [f"block {i} of 7" for i in range(7)]


def test_memory_of_a_block_is_its_own_threads() -> None:
    """Register tensors far larger than a thread's stack lie in the arena that each thread of the launch has."""

    @cute.kernel
    def keeps(counter: cute.Tensor, out: cute.Tensor) -> None:
        block, blocks = cute.arch.block_idx()[0], cute.arch.grid_dim()[0]
        own = cute.make_rmem_tensor(1 << 15, tt.Int32)
        for i in range(1 << 15):
            own[i] = i + block
        meet(counter.iterator, blocks, 1)
        out[block, cute.arch.thread_idx()[0]] = own[(1 << 15) - 1 - cute.arch.thread_idx()[0]]

    @cute.jit
    def launch(counter: cute.Tensor, out: cute.Tensor) -> None:
        keeps(counter, out).launch(grid=4, block=32, cooperative=True)

    out = np.zeros((4, 32), np.int32)
    launch(np.zeros(1, np.int32), out)
    assert out.tolist() == [[(1 << 15) - 1 - thread + block for thread in range(32)] for block in range(4)]


def test_bounds_are_checked() -> None:
    with override(debug="bounds"), pytest.raises(OutOfBoundsError):
        run(np.zeros(1, np.int32), np.zeros((2, 3, 32), np.int32), 2, 4)
