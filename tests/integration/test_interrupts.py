"""Ctrl-C while a program compiles and runs. Mass runs are `python -m benchmarks.interrupts`.

Endless kernels are in `test_endless_kernels`.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.integration.subprograms import run, run_text


def test_interrupts_at_random_moments() -> None:
    finished = run("-m", "benchmarks.interrupts", "--times", "16", "--seed", "7", "--json")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    result = json.loads(finished.stdout)
    assert result["outcomes"] == {"KeyboardInterrupt": 16}
    assert result["workers left"] == 0


ENDLESS = """
import os, signal, threading, time
import numpy as np
import triptych as tt
from triptych import cute

@tt.kernel
def nothing(a: cute.Tensor):
    a[0] = 1

@tt.jit
def computes_nothing(a: cute.Tensor, n: tt.Int32):
    while n > 0:
        pass

@tt.jit
def never_breaks(a: cute.Tensor, n: tt.Int32):
    while True:
        a[0] = a[0] + n
        if n < 0:
            break

@tt.jit
def waits_for_memory(a: cute.Tensor, n: tt.Int32):
    while a[1] != n + 77:
        a[2] = n

@tt.jit
def counts_very_far(a: cute.Tensor, n: tt.Int32):
    total = tt.Int64(0)
    for i in range(tt.Int64(n) << 62):
        total = total ^ (i * n)
    a[0] = total.to(tt.Int32)

@tt.jit
def counts_very_far_twice(a: cute.Tensor, n: tt.Int32):
    for i in range(n * 2_000_000_000):
        for j in range(n * 2_000_000_000):
            a[0] = a[0] ^ (i * j)

@tt.jit
def counts_known_numbers(a: cute.Tensor, n: tt.Int32):
    for i in range(60000):
        for j in range(60000):
            for k in range(60000):
                a[0] = a[0] ^ (i * j * k)

@tt.jit
def counts_nothing_again_and_again(a: cute.Tensor, n: tt.Int32):
    while n > 0:
        for j in range(n - 1):
            n = n ^ (j * j)

@tt.jit
def goes_back(a: cute.Tensor, n: tt.Int32):
    i = tt.Int32(0)
    while i < n + 100:
        i = i - 1 if i > 5 else i + 1

@tt.jit
def launches_for_ever(a: cute.Tensor, n: tt.Int32):
    while n > 0:
        nothing(a).launch(grid=1, block=1)

@tt.jit
def prints_for_ever(a: cute.Tensor, n: tt.Int32):
    while n > 0:
        tt.printf("")

@tt.jit
def tests_with_an_effect(a: cute.Tensor, n: tt.Int32):
    while changed(a, n) > 0:
        pass

def changed(a, n):
    a[0] = a[0] ^ 1
    return n

@tt.jit
def adds(a: cute.Tensor, n: tt.Int32):
    for i in range(4):
        a[i] = n + i

a = np.zeros(4, np.int32)
for function in (
    computes_nothing, never_breaks, waits_for_memory, counts_very_far, counts_very_far_twice, counts_known_numbers,
    counts_nothing_again_and_again, goes_back, launches_for_ever, prints_for_ever, tests_with_an_effect,
):
    call = tt.compile(function, a, 1)
    for way in (call, function):
        a[:] = 0
        started = time.monotonic()
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            way(a, 1)
            print(function.__name__, "ended")
        except KeyboardInterrupt:
            print(function.__name__, "late" * (time.monotonic() - started > 20))
    adds(a, 1)
    assert a.tolist() == [1, 2, 3, 4]
"""


def test_endless_host_functions(tmp_path: Path) -> None:
    finished = run_text(ENDLESS, tmp_path)
    assert finished.stderr == ""
    lines = [line.split() for line in finished.stdout.splitlines()]
    assert len(lines) == 22
    assert all(len(line) == 1 for line in lines), finished.stdout
