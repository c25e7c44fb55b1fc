"""The memory of blocks: private arrays far larger than any stack, from threads with little of it, nested launches."""

from __future__ import annotations

import sys

import pytest

from tests.integration.subprograms import run

PROGRAM = """
import resource, signal, sys, threading
import numpy as np
import triptych as tt
from triptych import cute

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
N, THREADS, stack = map(int, sys.argv[1:])

@tt.kernel
def in_segments(out: cute.Tensor):
    block, _, _ = cute.arch.block_idx()
    thread, _, _ = cute.arch.thread_idx()
    own = cute.make_rmem_tensor(N, tt.Int32)
    for i in range(N):
        own[i] = i + thread + block
    cute.arch.sync_threads()
    out[block, thread] = own[thread % N]

@tt.kernel
def as_coroutines(out: cute.Tensor):
    block, _, _ = cute.arch.block_idx()
    thread, _, _ = cute.arch.thread_idx()
    own = cute.make_rmem_tensor(N, tt.Int32)
    for i in range(N):
        own[i] = i + thread + block
    if thread < 32:
        cute.arch.barrier(barrier_id=1, number_of_threads=THREADS)
    else:
        cute.arch.barrier(barrier_id=1, number_of_threads=THREADS)
    out[block, thread] = own[thread % N]

@tt.jit
def segments(out: cute.Tensor):
    in_segments(out).launch(grid=4, block=THREADS)

@tt.jit
def coroutines(out: cute.Tensor):
    as_coroutines(out).launch(grid=4, block=THREADS)

def check():
    for launch in (segments, coroutines):
        out = np.zeros((4, THREADS), np.int32)
        try:
            launch(out)
        except MemoryError as error:
            print(error.code, error.span.line)
            continue
        thread = np.arange(THREADS)
        print("right" if (out == thread % N + thread + np.arange(4)[:, None]).all() else "WRONG")

if stack:
    threading.stack_size(stack << 10)
    thread = threading.Thread(target=check)
    thread.start()
    thread.join()
else:
    check()
"""
SMALL_STACK = 256
"""KiB; the default of macOS is 512."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("memory") / "program.py"
    path.write_text(PROGRAM)
    return str(path)


@pytest.mark.parametrize("stack", [0, SMALL_STACK])
@pytest.mark.parametrize(("elements", "threads"), [(256, 1024), (2048, 1024), (8192, 1024), (8192, 64)])
def test_private_arrays_of_any_size(program: str, elements: int, threads: int, stack: int) -> None:
    finished = run(program, str(elements), str(threads), str(stack))
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.split() == ["right", "right"]


@pytest.mark.parametrize("stack", [0, SMALL_STACK])
def test_what_is_beyond_the_limit_is_refused_at_its_launch(program: str, stack: int) -> None:
    finished = run(program, str(1 << 17), "1024", str(stack))
    assert finished.returncode == 0, finished.stderr
    lines = [number for number, text in enumerate(PROGRAM.splitlines(), start=1) if ".launch(" in text]
    assert finished.stdout.split("\n")[:2] == [f"TT0624 {line}" for line in lines]


NESTED = """
import signal, threading, time
import numpy as np
import triptych as tt
from triptych import cute

@tt.kernel
def sums(out: cute.Tensor, rounds: tt.Int32):
    thread, _, _ = cute.arch.thread_idx()
    own = cute.make_rmem_tensor(1024, tt.Int32)
    for i in range(1024):
        own[i] = i + thread
    cute.arch.sync_threads()
    n = tt.Int32(0)
    total = tt.Int32(0)
    while n < rounds:
        total += own[(n + thread) % 1024]
        n += 1
    cute.arch.sync_threads()
    out[thread] = own[thread]
    out[512 + thread] = total

@tt.jit
def launch(out: cute.Tensor, rounds: tt.Int32):
    sums(out, rounds).launch(grid=1, block=512)

@tt.kernel
def larger(out: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    own = cute.make_rmem_tensor(4096, tt.Int32)
    for i in range(4096):
        own[i] = -1
    cute.arch.sync_threads()
    out[thread] = own[thread]

@tt.jit
def launch_larger(out: cute.Tensor):
    larger(out).launch(grid=1, block=512)

inner = []
def handler(*_):
    out = np.zeros(512, np.int32)
    launch_larger(out)
    inner.append((out == -1).all())

out = np.zeros(1024, np.int32)
launch(out, 1)
launch_larger(np.zeros(512, np.int32))
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
for _ in range(20):
    launch(out, 500_000)
    assert (out[:512] == 2 * np.arange(512)).all(), out
    if len(inner) > 3:
        break
signal.setitimer(signal.ITIMER_REAL, 0)
print(len(inner) > 0, all(inner))
"""


def test_a_launch_inside_of_a_launch_has_memory_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A signal handler that runs while a kernel looks at signals may launch kernels itself."""
    path = tmp_path_factory.mktemp("nested") / "program.py"
    path.write_text(NESTED)
    finished = run(str(path))
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.split() == ["True", "True"]


HOST = """
import sys, threading
import triptych as tt
from triptych import cute

@tt.jit
def host(n: tt.Int32, k: tt.Int32):
    assert k < 5
    total = tt.Int32(0)
    for j in range(n):
        first = cute.make_rmem_tensor(1 << 18, tt.Int32)
        second = cute.make_rmem_tensor(1 << 20, tt.Int32)
        for i in range(n):
            first[i] = i * j
        second[k] = first[k]
        total += second[k]
    return total

def check():
    print(host(100, 2))
    try:
        host(100, 7)
    except AssertionError as error:
        print(error.code)

threading.stack_size(256 << 10)
thread = threading.Thread(target=check)
thread.start()
thread.join()
with open("/proc/self/statm") as pages:
    before = int(pages.read().split()[0])
for _ in range(100):
    host(3, 2)
with open("/proc/self/statm") as pages:
    print(int(pages.read().split()[0]) - before < 5000)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is read from /proc")
def test_large_arrays_of_host_functions(tmp_path_factory: pytest.TempPathFactory) -> None:
    """They are right, also where a check leaves the function, and are given back: 500 MiB would be seen."""
    path = tmp_path_factory.mktemp("host") / "program.py"
    path.write_text(HOST)
    finished = run(str(path))
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.split() == ["9900", "TT0605", "True"]
