"""What the CPU target asks of the operating system, and what it says where that is missing."""

from __future__ import annotations

import re
import sys
import time

import numpy as np
import pytest

import triptych as tt
from tests.contracts.tree import ROOT
from triptych import cute
from triptych.support.config import override
from triptych.targets.cpu.abi.system import ALLOCATE, CLOCK, SYSTEMS, System, UnsupportedSystemError, system
from triptych.targets.cpu.runtime.pool_code import pool_code


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that nobody has ported the target to."""
    monkeypatch.delitem(SYSTEMS, sys.platform)


@tt.kernel
def one_more_kernel(x: cute.Tensor) -> None:
    x[cute.arch.thread_idx()[0]] += 1


@tt.jit
def one_more(x: cute.Tensor) -> None:
    one_more_kernel(x).launch(grid=(1, 1, 1), block=(4, 1, 1))


def test_the_clock_is_that_of_this_system() -> None:
    assert system().monotonic_clock == time.CLOCK_MONOTONIC


def test_kernels_are_refused_where_they_cannot_run(elsewhere: None) -> None:
    with override(threads=7), pytest.raises(UnsupportedSystemError, match=sys.platform) as raised:
        one_more(np.zeros(4, np.int32))
    assert raised.value.expected == "one of " + ", ".join(SYSTEMS)


def test_loops_run_without_looking_at_a_clock(elsewhere: None) -> None:
    @tt.jit
    def total(n: tt.Int64) -> tt.Int64:
        result = tt.Int64(0)
        for i in range(n):
            result += i * i
        return result

    assert total(1000) == sum(i * i for i in range(1000))
    assert CLOCK not in tt.compile(total, 1000).asm


def test_text_for_another_system_has_its_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SYSTEMS, sys.platform, System(monotonic_clock=6, thread_key="i64"))
    text = pool_code()
    assert "@monotonic_clock = internal constant i32 6" in text
    assert set(re.findall(r"@pthread_[gs]etspecific\((\S+?)[ ,)]", text)) == {"i64"}
    assert "sigaction" not in text
    assert "%thread_key" not in text


def test_the_names_stand_in_one_file() -> None:
    """A port has one place to look at."""
    folder = ROOT / "src" / "triptych" / "targets" / "cpu"
    found = {
        path.name
        for path in folder.rglob("*.py")
        if re.search(rf"\b({ALLOCATE}|{CLOCK}|CLOCK_MONOTONIC)\b", path.read_text(encoding="utf-8"))
    }
    assert found == {"system.py"}
