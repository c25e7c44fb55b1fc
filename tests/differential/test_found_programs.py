"""Programs on which an execution once disagreed with CPython, made small."""

from __future__ import annotations

from itertools import product

import pytest

from tests.differential.oracle import agree
from tests.differential.program import Program

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
