"""Not speed: Ctrl-C at random moments of compiling and running, a thousand times.

    python -m benchmarks.interrupts [--times 1000] [--seed 1] [--json]

Each interrupt must arrive as `KeyboardInterrupt` and nothing else, within a second; the calls after it must be right;
and no process that ran LLVM may be left when the interrupted process has ended or was killed.
"""

from __future__ import annotations

import argparse
import gc
import io
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import triptych as tt
from triptych import cute
from triptych.ir.llvm.worker import shared_pool
from triptych.metastage.trace.trace import TRACING

TIMES = 1000
ROUNDS = 25
"""Interrupts of one process: the first of them come while it imports and compiles for the first time."""
LATEST = 1.5
"""Seconds of a program after which its interrupt comes at the latest."""
PATIENCE = 1.0
"""Seconds within which an interrupt should arrive."""

SENDER = """
import os, signal, sys, time
for line in sys.stdin:
    time.sleep(float(line))
    print(time.monotonic(), flush=True)
    os.kill(os.getppid(), signal.SIGINT)
"""
NUMBERS = itertools.count(1)


@tt.jit
def terms(x: tt.Int32, c: tt.Constexpr[int], count: tt.Constexpr[int]) -> Any:
    total = x
    for i in tt.range_constexpr(count):
        total = (total * 31 + i) ^ (total >> 3)
    return total + c


@tt.jit
def idle_terms(x: tt.Int32, c: tt.Constexpr[int]) -> Any:
    for _ in tt.range_constexpr(20_000):
        pass
    return x + c


@tt.kernel
def add_number(a: cute.Tensor, c: tt.Constexpr[int]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    shared = cute.SmemAllocator().allocate_tensor(tt.Int32, cute.make_layout(32))
    shared[thread] = a[block * 32 + thread]
    cute.arch.sync_threads()
    a[block * 32 + thread] = shared[thread] + c


@tt.jit
def launch(a: cute.Tensor, c: tt.Constexpr[int]) -> None:
    add_number(a, c).launch(grid=4, block=32)


@tt.kernel
def count_for_ever(a: cute.Tensor, n: tt.Int32) -> None:
    while n > 0:
        a[0] = a[0] + n


@tt.jit
def launch_for_ever(a: cute.Tensor, n: tt.Int32) -> None:
    count_for_ever(a, n).launch(grid=3, block=32)


@tt.jit
def loop_for_ever(n: tt.Int64) -> Any:
    total = tt.Int64(0)
    while n > 0:
        for i in range(n * 1_000_000):
            total = total ^ (i * n)
    return total


@tt.jit
def quotient(x: tt.Int32, y: tt.Int32) -> Any:
    return x // y


@tt.jit
def say(x: tt.Int32) -> None:
    tt.printf("x = {}\n", x)


def compile_host() -> None:
    """New functions, one after the other."""
    terms(1, next(NUMBERS), 200)


def compile_large() -> None:
    """One for which LLVM takes a second."""
    terms(1, next(NUMBERS), 3000)


def compile_kernel() -> None:
    launch(np.zeros(128, np.int32), next(NUMBERS))


def trace() -> None:
    """Long in Python, and nothing to compile."""
    idle_terms(1, next(NUMBERS))


def run_kernel() -> None:
    launch_for_ever(np.zeros(4, np.int32), 1)


def run_host() -> None:
    loop_for_ever(1)


def fail() -> None:
    try:
        quotient(1, 0)
    except ZeroDivisionError:
        return
    raise AssertionError("a division by zero has a result")


def show() -> None:
    sys.stdout = io.StringIO()
    say(3)


PROGRAMS: tuple[Callable[[], None], ...] = (
    *(compile_host, compile_large, compile_kernel, trace, run_kernel, run_host, fail, show),
)


def wrong() -> str:
    """What is not as it should be after an interrupt, or nothing."""
    number = next(NUMBERS)
    a = np.zeros(128, np.int32)
    launch(a, 7)
    if quotient(7, 2) != 3 or not (a == 7).all():
        return "a compiled function is wrong"
    if terms(5, number, 3) != reference(5, number, 3):
        return "a function compiled after the interrupt is wrong"
    if TRACING or not gc.isenabled() or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return "something was left as it is while compiling"
    return ""


def reference(x: int, c: int, count: int) -> int:
    """`terms` in NumPy's 32 bits."""
    with np.errstate(over="ignore"):
        total = np.int32(x)
        for i in range(count):
            total = (total * np.int32(31) + np.int32(i)) ^ (total >> np.int32(3))
        return int(total + np.int32(c))


class Interrupted:
    """One process: it is interrupted again and again by a process of its own."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._sender: Any = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", SENDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._arrived = 0.0
        self.outcomes: Counter[str] = Counter()
        self.latencies: list[tuple[float, str]] = []
        sys.unraisablehook = lambda lost: self.outcomes.update([f"lost {lost.exc_type.__name__}"])

    def round(self) -> None:
        """Run one program until it is interrupted, then look whether all is well."""
        program = self._random.choice(PROGRAMS)
        outcome = self._interrupted(program)
        sys.stdout = sys.__stdout__
        self.latencies.append((self._arrived - float(self._sender.stdout.readline()), program.__name__))
        self.outcomes[outcome] += 1
        problem = wrong()
        if problem:
            self.outcomes[f"{problem}, after {program.__name__}"] += 1

    def _interrupted(self, program: Callable[[], None]) -> str:
        try:
            self._sender.stdin.write(f"{self._random.uniform(0, LATEST)}\n")
            self._sender.stdin.flush()
            while True:
                program()
        except KeyboardInterrupt:
            self._arrived = time.monotonic()
            return "KeyboardInterrupt"
        except BaseException as error:
            time.sleep(LATEST)
            return f"{type(error).__name__} in {program.__name__}: {str(error)[:200]}"

    def end(self) -> None:
        self._sender.stdin.close()
        self._sender.wait()


def child(seed: int, rounds: int) -> None:
    """What an interrupted process prints: how its rounds ended, and the processes that must end with it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores interrupts
    process = Interrupted(seed)
    for _ in range(rounds):
        process.round()
    process.end()
    result = {"outcomes": process.outcomes, "latencies": process.latencies, "workers": shared_pool().pids()}
    print(json.dumps(result), flush=True)
    if seed % 2:
        os.kill(os.getpid(), signal.SIGKILL)


def left_over(workers: list[int]) -> int:
    """How many processes are still there after some seconds."""
    deadline = time.monotonic() + 10
    while any(_runs(pid) for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    return sum(_runs(pid) for pid in workers)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def interrupt(times: int, seed: int, progress: bool) -> dict[str, Any]:
    """The outcomes of so many interrupts."""
    outcomes: Counter[str] = Counter()
    latencies: list[tuple[float, str]] = []
    left, done = 0, 0
    while done < times:
        rounds = min(ROUNDS, times - done)
        words = [sys.executable, "-m", "benchmarks.interrupts", "--child", str(rounds), "--seed", str(seed)]
        finished = subprocess.run(words, capture_output=True, text=True, check=False, timeout=600)
        lines = finished.stdout.splitlines()
        if lines:
            result = json.loads(lines[-1])
            outcomes.update(result["outcomes"])
            latencies += result["latencies"]
            left += left_over(result["workers"])
        else:
            outcomes[f"a process ended with {finished.returncode}: {finished.stderr[-2000:]}"] += 1
        done, seed = done + rounds, seed + 1
        if progress:
            print(f"{done} of {times}: {dict(outcomes)}", file=sys.stderr, flush=True)
    late = sum(latency > PATIENCE for latency, _ in latencies)
    slowest = ", ".join(f"{latency:.2f} in {program}" for latency, program in sorted(latencies)[-5:])
    return {"interrupts": times, "outcomes": outcomes, "later than 1 s": late, "slowest": slowest, "workers left": left}


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=TIMES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.seed, options.child)
        return 0
    result = interrupt(options.times, options.seed, progress=not options.json)
    print(json.dumps(result) if options.json else "\n".join(f"{what}: {value}" for what, value in result.items()))
    return int(result["outcomes"] != {"KeyboardInterrupt": options.times} or result["workers left"] > 0)


if __name__ == "__main__":
    sys.exit(main())
