"""Children that are forked while threads of their parent compile. Mass runs are `python -m benchmarks.fork_storm`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.integration.subprograms import run, run_text

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


def test_children_compile_what_threads_of_the_parent_are_compiling() -> None:
    finished = run("-m", "benchmarks.fork_storm", "--times", "6", "--json")
    assert finished.returncode == 0, finished.stderr
    result = json.loads(finished.stdout)
    assert (result["right"], result["wrong"], result["stuck"]) == (6, 0, 0)
    assert result["compiled meanwhile"] > 0


HALF_TRACED = """
import gc, os, signal, threading, warnings
import triptych as tt
from triptych.metastage.trace.trace import TRACING

warnings.simplefilter("ignore")
inside, go_on = threading.Event(), threading.Event()

@tt.jit
def slow(x: tt.Int32, c: tt.Constexpr):
    inside.set()
    go_on.wait(60)
    return x + c

@tt.jit
def quick(x: tt.Int32, c: tt.Constexpr):
    return x * c

tracing = threading.Thread(target=slow, args=(1, 1))
tracing.start()
inside.wait(60)
assert TRACING and not gc.isenabled()
child = os.fork()
if child == 0:
    signal.alarm(60)
    go_on.set()
    right = not TRACING and gc.isenabled() and slow(1, 1) == 2 and quick(2, 3) == 6 and quick(2, 3) == 6
    os._exit(0 if right else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
go_on.set()
tracing.join()
assert gc.isenabled() and not TRACING and slow(1, 1) == 2
print("right")
"""


def test_a_function_that_is_half_traced_belongs_to_the_parent(tmp_path: Path) -> None:
    finished = run_text(HALF_TRACED, tmp_path)
    assert (finished.stdout, finished.returncode) == ("right\n", 0), finished.stderr


FORK_BY_A_THREAD = """
import os, signal, sys, threading, warnings
import triptych as tt

warnings.simplefilter("ignore")
ended = []

@tt.jit
def forks_elsewhere(x: tt.Int32):
    def fork():
        child = os.fork()
        if child == 0:
            os._exit(0 if signal.getsignal(signal.SIGINT) is signal.default_int_handler else 1)
        ended.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    thread = threading.Thread(target=fork)
    thread.start()
    thread.join()
    return x

print(forks_elsewhere(3), ended, signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


def test_a_child_handles_signals_as_its_parent_does_when_it_compiles_nothing(tmp_path: Path) -> None:
    finished = run_text(FORK_BY_A_THREAD, tmp_path)
    assert (finished.stdout, finished.returncode) == ("3 [0] True\n", 0), finished.stderr
