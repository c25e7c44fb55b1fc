"""Ctrl-C while a kernel runs: whoever runs the endless part, the call ends with what the signal handler raised."""

from __future__ import annotations

import pytest

from tests.unit.targets.cpu.runtime.test_pool import run
from tests.unit.targets.launches import ENDLESS

INTERRUPT = "threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()\n"

CATCH = f"""
for grid in grids:
    started = time.monotonic()
    {INTERRUPT}
    try:
        call(address, threading.get_ident() & 0x7FFFFFFF, grid, 1)
    except KeyboardInterrupt:
        print("interrupted in time" if 0.2 < time.monotonic() - started < 20 else "interrupted late")
call = launcher(COUNT)
call(address, 0, 1000, 1)
print(counts[:1000].sum())
"""

SLEEP = "llvm.func @usleep(i32) -> i32"
SLEEPING = """
      %time = arith.constant 1000 : i32
      %slept = llvm.call @usleep(%time) : (i32) -> i32
"""
"""A block of a millisecond that never polls."""

WHO = SLEEP + "\n llvm.func @pthread_self() -> i64"
ENDLESS_ELSEWHERE = f"""
      %self = llvm.call @pthread_self() : () -> i64
      %number = arith.trunci %self : i64 to i32
      %bits = arith.constant 0x7FFFFFFF : i32
      %low = arith.andi %number, %bits : i32
      %elsewhere = arith.cmpi ne, %low, %n : i32
      scf.if %elsewhere {{ {ENDLESS} }}
"""
"""Blocks of the calling thread end, those of others do not."""


@pytest.mark.parametrize("threads", [1, 2])
def test_an_endless_loop(threads: int) -> None:
    finished = run("call, grids = launcher(ENDLESS), (1, 2, 1000)" + CATCH, threads)
    assert (finished.stdout, finished.stderr) == ("interrupted in time\n" * 3 + "1000\n", "")


@pytest.mark.parametrize("threads", [1, 2])
def test_a_long_grid_of_blocks_that_never_poll(threads: int) -> None:
    finished = run(f"call, grids = launcher({SLEEPING!r}, {SLEEP!r}), (1_000_000,)" + CATCH, threads)
    assert (finished.stdout, finished.stderr) == ("interrupted in time\n1000\n", "")


def test_the_caller_waits_for_an_endless_worker() -> None:
    body = SLEEPING + ENDLESS_ELSEWHERE
    finished = run(f"call, grids = launcher({body!r}, {WHO!r}), (200,)" + CATCH)
    assert (finished.stdout, finished.stderr) == ("interrupted in time\n1000\n", "")


def test_a_handler_that_raises_something_else() -> None:
    finished = run(
        f"""
class Stop(Exception):
    pass

def handler(number, frame):
    raise Stop("enough")

signal.signal(signal.SIGINT, handler)
call = launcher(ENDLESS)
{INTERRUPT}
try:
    call(address, 0, 4, 1)
except Stop as stop:
    names = []
    while stop.__traceback__ is not None:
        names.append(stop.__traceback__.tb_frame.f_code.co_name)
        stop.__traceback__ = stop.__traceback__.tb_next
    print(stop, names)
"""
    )
    assert (finished.stdout, finished.stderr) == ("enough ['<module>', 'handler']\n", "")


def test_a_handler_that_raises_nothing_lets_the_kernel_go_on() -> None:
    finished = run(
        f"""
signal.signal(signal.SIGINT, lambda *_: print("handled"))
call = launcher(COUNT + {SLEEPING!r}, {SLEEP!r})
{INTERRUPT}
call(address, 0, 1000, 1)
print(counts[:1000].sum())
"""
    )
    assert (finished.stdout, finished.stderr) == ("handled\n1000\n", "")


def test_a_launch_of_another_thread_goes_on() -> None:
    finished = run(
        f"""
call = launcher(COUNT + {SLEEPING!r}, {SLEEP!r})
other = threading.Thread(target=call, args=(address, 0, 1000, 1))
other.start()
{INTERRUPT}
try:
    time.sleep(10)
except KeyboardInterrupt:
    print("interrupted")
other.join()
print(counts[:1000].sum())
"""
    )
    assert (finished.stdout, finished.stderr) == ("interrupted\n1000\n", "")


@pytest.mark.parametrize("threads", [1, 2])
def test_an_endless_loop_that_prints(threads: int) -> None:
    endless = ENDLESS.replace("scf.yield", 'gpu.printf "again\\0A" scf.yield')
    finished = run(f"call, grids = launcher({endless!r}), (2,)" + CATCH, threads)
    assert finished.stdout.splitlines()[-2:] == ["interrupted in time", "1000"]
    assert finished.stderr == ""
