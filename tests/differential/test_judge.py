"""A program that kills or hangs its process becomes a failure, and the next program is judged as usual."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.differential.judge import Judge, judge
from tests.differential.program import Program

CRASHES = Program("import os, signal\ndef fuzzed():\n    os.kill(os.getpid(), signal.SIGKILL)\n", "fuzzed", ((),))
HANGS = Program("def fuzzed():\n    while True:\n        pass\n", "fuzzed", ((),))


@pytest.fixture
def judging() -> Iterator[Judge[Program]]:
    judging = Judge(20.0, judge)
    yield judging
    judging.close()


def test_death_is_a_verdict_and_the_next_program_is_judged(judging: Judge[Program]) -> None:
    for _ in range(2):
        failure = judging.judge(CRASHES)
        assert failure is not None
        assert failure.kind == "the process died: SIGKILL"
        assert CRASHES.source in failure.report


def test_hanging_is_a_verdict(judging: Judge[Program]) -> None:
    judging.timeout = 5.0
    failure = judging.judge(HANGS)
    assert failure is not None
    assert failure.kind == "no answer in time"
