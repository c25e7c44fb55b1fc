"""Blocks that wait for global memory: a deadlock where nobody could write it, and none wherever somebody does."""

from __future__ import annotations

import mmap
import threading
import time
import warnings
from typing import Any

import numpy as np
import pytest

import triptych as tt
from triptych import cute
from triptych.diagnostics.kernel_errors import DeadlockError
from triptych.support.errors import TriptychWarning
from triptych.targets.cpu.runtime import pool as outside_writers

arch = cute.arch


@tt.kernel
def looks(a: cute.Tensor, n: tt.Int32) -> None:
    while a[0] != n:
        pass


@tt.kernel
def adds_nothing(a: cute.Tensor, n: tt.Int32) -> None:
    while arch.atomic_add(a.iterator, 0, sem="acquire") != n:
        pass


@tt.kernel
def exchanges(a: cute.Tensor, n: tt.Int32) -> None:
    while arch.atomic_exch(a.iterator, 0) != n:
        pass


@tt.kernel
def tries_to_swap(a: cute.Tensor, n: tt.Int32) -> None:
    while arch.atomic_cas(a.iterator, cmp=n, val=n) != n:
        pass


@tt.kernel
def one_warp_looks(a: cute.Tensor, n: tt.Int32) -> None:
    if arch.warp_idx() == 0:
        while a[0] != n:
            pass
    arch.sync_threads()


@tt.kernel
def waits_for_the_next_block(a: cute.Tensor, n: tt.Int32) -> None:
    block, _, _ = arch.block_idx()
    blocks, _, _ = arch.grid_dim()
    while arch.atomic_add(a.iterator + 1 + (block + 1) % blocks, 0, sem="acquire") != n:
        pass
    arch.atomic_exch(a.iterator + 1 + block, n, sem="release")


@tt.jit
def launch(kernel: tt.Constexpr[Any], a: cute.Tensor, n: tt.Int32, grid: tt.Int32) -> None:
    kernel(a, n).launch(grid=grid, block=64)


@tt.jit
def launch_together(kernel: tt.Constexpr[Any], a: cute.Tensor, n: tt.Int32, grid: tt.Int32) -> None:
    kernel(a, n).launch(grid=grid, block=64, cooperative=True)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else is there; other threads of the process that runs the tests have nothing to do with it."""
    monkeypatch.setattr(outside_writers, "_who_could", lambda caller: "")


VAIN = [looks, adds_nothing, exchanges, tries_to_swap, one_warp_looks, waits_for_the_next_block]


@pytest.mark.parametrize("kernel", VAIN, ids=lambda kernel: str(kernel.__name__))
@pytest.mark.usefixtures("alone")
def test_what_nobody_writes_is_a_deadlock(kernel: Any) -> None:
    a = np.zeros(9, np.int32)
    several = [(launch, 5), (launch_together, 5)] if kernel in (looks, waits_for_the_next_block) else []
    for start, grid in ((launch, 1), *several):
        with pytest.raises(DeadlockError, match="TT0622") as told:
            start(kernel, a, 1, grid)
        assert "the store that the loop waits for" in str(told.value)


@pytest.mark.usefixtures("alone")
def test_blocks_that_have_not_begun_are_reported() -> None:
    """There are fewer threads than blocks, whatever the machine."""
    with pytest.raises(DeadlockError, match="of 1000 blocks have not begun"):
        launch(waits_for_the_next_block, np.zeros(1001, np.int32), 1, 1000)


@tt.kernel
def counts_up(a: cute.Tensor, n: tt.Int32) -> None:
    while arch.atomic_add(a.iterator, 1) < n:
        pass


@tt.kernel
def counts_up_in_a_block(a: cute.Tensor, n: tt.Int32) -> None:
    thread, _, _ = arch.thread_idx()
    shared = cute.make_tensor(arch.alloc_smem(tt.Int32, 1), cute.make_layout(1))
    if thread == 0:
        shared[0] = 0
    arch.sync_threads()
    while arch.atomic_add(shared.iterator, 1) < n:
        pass
    a[0] = n


@tt.kernel
def takes_turns(a: cute.Tensor, n: tt.Int32) -> None:
    """Block after block, `n` times: each waits for most of the time."""
    thread, _, _ = arch.thread_idx()
    block, _, _ = arch.block_idx()
    blocks, _, _ = arch.grid_dim()
    for i in range(n):
        if thread == 0:
            while arch.atomic_add(a.iterator, 0, sem="acquire") != i * blocks + block:
                pass
            arch.atomic_exch(a.iterator, i * blocks + block + 1, sem="release")
        arch.sync_threads()


@tt.kernel
def waits_for_one_that_computes(a: cute.Tensor, n: tt.Int32) -> None:
    """The last block writes after a while; nobody else gets on meanwhile."""
    thread, _, _ = arch.thread_idx()
    block, _, _ = arch.block_idx()
    blocks, _, _ = arch.grid_dim()
    if block == blocks - 1:
        x = tt.Float32(0.5)
        for _ in range(n * 4_000_000):
            x = x * 0.999 + 0.25
        if thread == 0:
            arch.atomic_exch(a.iterator, n + (x > 1e9).to(tt.Int32), sem="release")
    else:
        while arch.atomic_add(a.iterator, 0, sem="acquire") == 0:
            pass


@pytest.mark.parametrize("kernel", [counts_up, counts_up_in_a_block, takes_turns, waits_for_one_that_computes])
@pytest.mark.usefixtures("alone")
def test_who_gets_on_is_waited_for(kernel: Any) -> None:
    amount = 10 if kernel is waits_for_one_that_computes else 200
    for start, grid in ((launch, 1), (launch_together, 4)):
        if grid == 1 and kernel is waits_for_one_that_computes:
            continue
        a = np.zeros(9, np.int32)
        start(kernel, a, amount, grid)
        assert a[0] >= amount


def test_another_thread_may_write() -> None:
    a = np.zeros(9, np.int32)
    outside_writers._TOLD.clear()

    def write() -> None:
        while not outside_writers._TOLD:
            time.sleep(0.01)
        a[0] = 1

    writer = threading.Thread(target=write)
    writer.start()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        launch(looks, a, 1, 3)
    writer.join()
    assert any("another thread could" in str(each.message) for each in said if each.category is TriptychWarning)


def test_memory_of_other_processes_is_seen() -> None:
    before = outside_writers._shares_memory()
    with mmap.mmap(-1, 4096):
        assert outside_writers._shares_memory()
    assert outside_writers._shares_memory() == before
    assert not outside_writers._is_shared("7f0 rw-s 0000 00:01 9" + " " * 52 + "/dev/shm/sem.mp-1")
    assert not outside_writers._is_shared("7f0 rw-s 0000 00:01 9" + " " * 52 + "/dev/nvidiactl")
    assert not outside_writers._is_shared("7f0 rw-p 0000 00:01 9" + " " * 52 + "/dev/shm/a")
    assert outside_writers._is_shared("7f0 rw-s 0000 00:01 9" + " " * 52 + "/dev/shm/a")
