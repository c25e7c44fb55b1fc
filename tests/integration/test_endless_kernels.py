"""Ctrl-C in a kernel that never ends: the call ends at once with KeyboardInterrupt, and the next launch works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import triptych
import triptych as tt
from triptych import cute


@tt.kernel
def counts(a: cute.Tensor, n: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    while n > 0:
        a[thread] = a[thread] + n


@tt.kernel
def waits_for_memory(a: cute.Tensor, n: tt.Int32) -> None:
    while a[64] != n:
        pass


@tt.kernel
def has_one_endless_thread(a: cute.Tensor, n: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    if thread == 40:
        while n > 0:
            a[thread] = a[thread] + n
    a[thread] = 1


@tt.kernel
def never_breaks(a: cute.Tensor, n: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    while True:
        a[thread] = a[thread] + 1
        if n < 0:
            break


@tt.kernel
def meets_for_ever(a: cute.Tensor, n: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    shared = cute.SmemAllocator().allocate_tensor(tt.Int32, cute.make_layout(64))
    while n > 0:
        shared[thread] = a[63 - thread] + n
        cute.arch.sync_threads()
        a[thread] = shared[63 - thread]
        cute.arch.sync_threads()


@tt.kernel
def meets_at_a_named_barrier_for_ever(a: cute.Tensor, n: tt.Int32) -> None:
    while n > 0:
        cute.arch.barrier(barrier_id=1, number_of_threads=64)


@tt.kernel
def waits_for_a_warp_that_has_ended(a: cute.Tensor, n: tt.Int32) -> None:
    if cute.arch.warp_idx() == 0:
        while a[64] != n:
            pass
    a[65] = n


@tt.kernel
def tries_to_swap(a: cute.Tensor, n: tt.Int32) -> None:
    while cute.arch.atomic_cas(a.iterator + 64, cmp=n, val=n) != n:
        pass


@tt.kernel
def prints_for_ever(a: cute.Tensor, n: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    while n > 0:
        if thread == 0:
            cute.printf("again\n")


@tt.kernel
def counts_very_far(a: cute.Tensor, n: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    x = tt.Float32(0.5)
    for _ in range(n * 2_000_000_000):
        x = cute.math.sin(x) + 1.0
    a[thread] = x.to(tt.Int32)


@tt.kernel
def counts_very_far_twice(a: cute.Tensor, n: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    for _ in range(n * 2_000_000_000):
        for j in range(n * 2_000_000_000):
            a[thread] = a[thread] ^ j


@tt.kernel
def meets_very_often(a: cute.Tensor, n: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    for i in range(n * 2_000_000_000):
        a[thread] = a[63 - thread] + i
        cute.arch.sync_threads()


@tt.kernel
def number_threads(a: cute.Tensor, n: tt.Int32) -> None:
    thread, _, _ = cute.arch.thread_idx()
    a[thread] = thread + n


ENDLESS = [
    counts,
    waits_for_memory,
    has_one_endless_thread,
    never_breaks,
    meets_for_ever,
    meets_at_a_named_barrier_for_ever,
    waits_for_a_warp_that_has_ended,
    tries_to_swap,
    prints_for_ever,
    counts_very_far,
    counts_very_far_twice,
    meets_very_often,
]


@tt.jit
def launch(kernel: tt.Constexpr[Any], a: Any, n: tt.Int32, grid: tt.Int32) -> None:
    kernel(a, n).launch(grid=grid, block=64)


INTERRUPTED = """
import os, signal, threading, time
import numpy as np
import triptych as tt
from tests.integration import test_endless_kernels as kernels

a = np.zeros(66, np.int32)
for kernel in kernels.ENDLESS:
    call = tt.compile(kernels.launch, kernel, a, 1, 1)
    for grid in (1, 3):
        a[:] = 0
        print(kernel.__name__, grid, flush=True)
        started = time.monotonic()
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            call(a, 1, grid)
            print("ended")
        except KeyboardInterrupt:
            print("interrupted", "late" * (time.monotonic() - started > 20))
    kernels.launch(kernels.number_threads, a, 1, 2)
    print((a[:64] == np.arange(1, 65)).all())
"""


@pytest.mark.parametrize("debug", ["", "bounds"])
def test_interrupt(debug: str) -> None:
    root = Path(__file__).parents[2]
    path = os.pathsep.join((str(Path(triptych.__file__).parents[1]), str(root)))
    finished = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", INTERRUPTED],
        env={**os.environ, "PYTHONPATH": path, "TRIPTYCH_DEBUG": debug},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    expected: list[str] = []
    for kernel in ENDLESS:
        expected += [f"{kernel.__name__} 1", "interrupted ", f"{kernel.__name__} 3", "interrupted ", "True"]
    assert [line for line in finished.stdout.splitlines() if line != "again"] == expected
    assert finished.stderr == ""
