"""The pool of threads: which ranges it hands out, and that it shares, parks, forks and ends as it should."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.unit.targets.launches import COUNT, launcher
from triptych.support.config import override
from triptych.support.setting import SettingError
from triptych.targets.cpu.abi.abi import LAUNCH
from triptych.targets.cpu.runtime.pool import pool_symbols

Range = tuple[int, int]


def ranges(total: int, **settings: Any) -> list[Range]:
    """The ranges of blocks that a pool of these settings runs, in the order in which they end."""
    with override(**settings):
        address = pool_symbols()[LAUNCH]
    handed: list[Range] = []
    chunk = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)(
        lambda packed, begin, end, launch: handed.append((begin, end))
    )
    pointers = [ctypes.c_void_p] * 2
    numbers = (ctypes.c_int64, ctypes.c_int32, ctypes.c_int32)
    asked = (ctypes.c_char_p, ctypes.c_int64, ctypes.c_int32)
    launch = ctypes.CFUNCTYPE(ctypes.c_int32, *pointers, *numbers, *asked)(address)
    assert launch(ctypes.cast(chunk, ctypes.c_void_p), None, total, 1, 1, b"a test", 0, 0) == 0
    return handed


TOTALS = [0, 1, 2, 3, 7, 100, 1023, 20_000]


@pytest.mark.parametrize("total", TOTALS)
@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("order", ["", "shuffled", "shuffled:8"])
def test_ranges_cover_the_grid_once(total: int, threads: int, order: str) -> None:
    handed = sorted(ranges(total, threads=threads, block_order=order))
    ends = [0, *(end for _, end in handed)]
    assert [begin for begin, _ in handed] == ends[:-1]
    assert ends[-1] == total


def test_one_thread_runs_blocks_in_order_and_in_few_ranges() -> None:
    handed = ranges(20_000, threads=1)
    assert handed == sorted(handed)
    assert len(handed) < 200


def test_a_shuffled_order_is_another_one_for_each_seed_and_the_same_again() -> None:
    orders = [ranges(50, threads=1, block_order=f"shuffled:{seed}") for seed in range(5)]
    assert orders == [ranges(50, threads=1, block_order=f"shuffled:{seed}") for seed in range(5)]
    assert len({tuple(order) for order in orders}) == 5
    assert all(order != sorted(order) for order in orders)


@pytest.mark.parametrize("order", ["backwards", "shuffled:", "shuffled:x", "shuffled:-1"])
def test_an_unknown_order_is_refused(order: str) -> None:
    with pytest.raises(SettingError, match="block_order"), override(block_order=order):
        pass


@cache
def counting() -> Callable[..., Any]:
    return launcher(COUNT)


def test_several_python_threads_launch_at_once() -> None:
    """One has the pool, the others run their blocks themselves."""

    def work(counts: Any) -> None:
        for _ in range(300):
            counting()(counts.ctypes.data, 0, len(counts), 1)

    arrays = [np.zeros(size, np.int32) for size in (1, 2, 50, 3000, 3000)]
    workers = [threading.Thread(target=work, args=(counts,)) for counts in arrays]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all((counts == 300).all() for counts in arrays)


def test_idle_threads_take_no_time() -> None:
    counts = np.zeros(100, np.int32)
    counting()(counts.ctypes.data, 0, len(counts), 1)
    time.sleep(0.05)
    assert min(time_in_a_pause() for _ in range(5)) < 0.01


def time_in_a_pause() -> float:
    before = time.process_time()
    time.sleep(0.1)
    return time.process_time() - before


def run(program: str, threads: int = 2) -> subprocess.CompletedProcess[str]:
    """A program in a process of its own, with all it needs imported."""
    head = """
import os, signal, sys, threading, time
import numpy as np
from tests.unit.targets.launches import *
counts = np.zeros(100_000, np.int32)
address = counts.ctypes.data
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TRIPTYCH_THREADS": str(threads)}
    command = [sys.executable, "-W", "ignore", "-c", head + program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_a_forked_process_has_a_pool_of_its_own() -> None:
    finished = run(
        """
call = launcher(COUNT)
call(address, 0, 1000, 1)
busy = threading.Thread(target=lambda: [call(address + 4000, 0, 90_000, 1) for _ in range(200)])
busy.start()
for _ in range(5):
    child = os.fork()
    if child == 0:
        counts[:1000] = 0
        for _ in range(3):
            call(address, 0, 1000, 1)
        grandchild = os.fork()
        call(address, 0, 1000, 1)
        if grandchild:
            assert os.waitpid(grandchild, 0)[1] == 0
        os._exit(0 if (counts[:1000] == 4).all() else 1)
    assert os.waitpid(child, 0)[1] == 0
busy.join()
call(address, 0, 1000, 1)
print(counts[:1000].sum())
"""
    )
    assert (finished.stdout, finished.stderr, finished.returncode) == ("2000\n", "", 0)


@pytest.mark.parametrize("pause", [0, 0.01])
def test_the_process_ends_cleanly(pause: float) -> None:
    """Also while threads still spin, and from an exit handler."""
    finished = run(
        f"""
import atexit
call = launcher(COUNT)
atexit.register(lambda: call(address, 0, 1000, 1))
call(address, 0, 1000, 1)
time.sleep({pause})
"""
    )
    assert (finished.stdout, finished.stderr, finished.returncode) == ("", "", 0)


def test_the_process_ends_while_another_thread_launches() -> None:
    finished = run(
        """
call = launcher(ENDLESS)
threading.Thread(target=call, args=(address, 0, 8, 1), daemon=True).start()
time.sleep(0.3)
"""
    )
    assert (finished.stdout, finished.stderr, finished.returncode) == ("", "", 0)


def test_blocks_print_from_any_thread() -> None:
    finished = run(
        """
call = launcher('gpu.printf "block %d\\\\0A", %i : i32')
for _ in range(20):
    call(address, 0, 500, 1)
"""
    )
    lines = finished.stdout.splitlines()
    assert (finished.stderr, finished.returncode) == ("", 0)
    assert sorted(lines) == sorted([f"block {i}" for i in range(500)] * 20)
