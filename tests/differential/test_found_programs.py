"""Programs on which an execution once disagreed with CPython, made small."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.differential.kernels.oracle import NAMES
from tests.differential.oracle import agree
from tests.differential.program import PYTHON_TYPES, Program, loaded

PROGRAMS = {
    "a variable that only the path through a break reads": """
def fuzzed(n: Int32, i: Int32):
    for a in range(n):
        for i in range(n):
            if i + 3 > n:
                break
        else:
            return -1
    return n - i
""",
    "a dead variable assigned in several branches of a loop": """
def fuzzed(n: Int32, i: Int32):
    for a in range(n):
        for i in range(n):
            if n > 4:
                t = 1
            elif i + 3 > n:
                v = 1
                break
        else:
            return -1
    return n - i
""",
    "a dead variable that a loop's test assigns": """
def fuzzed(n: Int32, x: Int32):
    for a in range(n):
        while (x := n - a) > 3:
            n = n - x
            if n + x > 8:
                break
        else:
            continue
        n = n - x
    return n - x
""",
    "a dead variable that a loop's test may assign": """
def fuzzed(n: Int32, x: Int32):
    for a in range(n):
        while n > 3 and (x := n - a) > 3:
            n = n - x
            if n + x > 8:
                break
        else:
            x = 2
        n = n - x
    return n - x
""",
}
CALLS = tuple(product((0, 1, 2, 3, 5, 9, 12), (-1, 0, 4)))


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_all_executions_agree(source: str) -> None:
    disagreement = agree(Program(source, "fuzzed", CALLS))
    assert disagreement is None, str(disagreement)


_KERNEL = """
@kernel
def every_call(result, n, i):
    thread, _, _ = cute.arch.thread_idx()
    result[thread] = fuzzed(n[thread], i[thread])

@jit
def launch(result, n, i):
    every_call(result, n, i).launch(grid=1, block=result.shape[0])
"""


def check_as_a_kernel(source: str) -> None:
    """Each call by a thread of its own, on the target of the settings."""
    first, second = np.array(CALLS, np.int32).T.copy()
    result = np.full(len(CALLS), 99, np.int32)
    with loaded(Program(source, "fuzzed", ()), PYTHON_TYPES) as fuzzed:
        expected = [fuzzed(*call) for call in CALLS]
    with loaded(Program(source + _KERNEL, "launch", ()), NAMES) as launch:
        launch(result, first, second)
    assert result.tolist() == expected


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_threads_that_diverge_in_them_agree(source: str) -> None:
    check_as_a_kernel(source)
