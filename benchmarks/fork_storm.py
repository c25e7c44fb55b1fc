"""Not speed: children are forked while four threads compile the functions that the children compile and call.

    python -m benchmarks.fork_storm [--times 500] [--json]

A child calls what its parent has compiled, compiles two functions that threads of the parent are compiling at that
moment, launches a kernel, and collects garbage. One that does not end, or ends otherwise than it should, fails.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import os
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import triptych as tt
from triptych import cute

TIMES = 500
THREADS = 4
PATIENCE = 60.0
"""Seconds after which a child counts as stuck."""
TERMS = 40


@tt.jit
def terms(x: tt.Int32, c: tt.Constexpr[int]) -> Any:
    total = x
    for i in tt.range_constexpr(TERMS):
        total += x * i
    return total + c


@tt.kernel
def add_number(a: cute.Tensor, c: tt.Constexpr[int]) -> None:
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    a[block * 32 + thread] = a[block * 32 + thread] + c


@tt.jit
def launch(a: cute.Tensor, c: tt.Constexpr[int]) -> None:
    add_number(a, c).launch(grid=4, block=32)


def expected(x: int, c: int) -> int:
    """What `terms` gives."""
    return x + x * sum(range(TERMS)) + c


def launched(c: int) -> bool:
    """Whether a launch adds its number everywhere."""
    a = np.zeros(128, np.int32)
    launch(a, c)
    return bool((a == c).all())


def child(number: int) -> str:
    """What went wrong in a child, or nothing."""
    if terms(3, 0) != expected(3, 0):
        return "an inherited function is wrong"
    if terms(2, 1_000_000 + number) != expected(2, 1_000_000 + number) or not launched(1_000_000 + number):
        return "a function compiled here is wrong"
    if not gc.isenabled():
        return "no garbage is collected"
    gc.collect()
    return ""


@contextmanager
def compiling() -> Iterator[list[int]]:
    """Threads that compile all the time; gives how many functions each has compiled."""
    done, numbers, ending = [0] * THREADS, itertools.count(1), threading.Event()

    def work(thread: int) -> None:
        while not ending.is_set():
            c = next(numbers)
            assert terms(1, c) == expected(1, c)
            assert launched(c)
            done[thread] += 1

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(THREADS)]
    for thread in threads:
        thread.start()
    try:
        yield done
    finally:
        ending.set()
        for thread in threads:
            thread.join()


def forked(number: int) -> str:
    """Fork one child, and say how it ended."""
    pid = os.fork()
    if pid == 0:
        try:
            problem = child(number)
        except BaseException as error:
            problem = f"{type(error).__name__}: {error}"
        if problem:
            os.write(2, f"child {number}: {problem}\n".encode())
        os._exit(bool(problem))
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return "right" if status == 0 else "wrong"
        time.sleep(0.005)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return "stuck"


def storm(times: int, progress: bool) -> dict[str, int]:
    """How the children ended, and how much the parent compiled meanwhile."""
    warnings.filterwarnings("ignore", message="This process .* is multi-threaded", category=DeprecationWarning)
    terms(3, 0)
    counts: Counter[str] = Counter(right=0, wrong=0, stuck=0)
    with compiling() as done:
        for number in range(times):
            counts[forked(number)] += 1
            if progress and (number + 1) % 25 == 0:
                print(f"{number + 1} of {times}: {dict(counts)}", file=sys.stderr, flush=True)
    return {"forks": times, **counts, "compiled meanwhile": 2 * sum(done)}


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=TIMES)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = storm(options.times, progress=not options.json)
    print(json.dumps(result) if options.json else ", ".join(f"{count} {what}" for what, count in result.items()))
    return int(result["right"] != options.times)


if __name__ == "__main__":
    sys.exit(main())
