"""Compiled code that nobody uses any more leaves: tables have a bound, and machine code is unmapped."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import pytest

import triptych as tt
from triptych.support.config import override
from triptych.support.lru import LRUCache

needs_proc = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="counts the mappings of the process")


def test_the_least_recently_used_leaves() -> None:
    table: LRUCache[str, int] = LRUCache(lambda: 2)
    table.put("a", 1)
    table.put("b", 2)
    assert table.get("a") == 1
    table.put("c", 3)
    assert [table.get(key) for key in "abc"] == [1, None, 3]
    table.put("a", 4)
    assert [table.get(key) for key in "abc"] == [4, None, 3]


@tt.jit(opt_level=0)
def increased(n: tt.Int32, step: tt.Constexpr[int]) -> Any:
    return n + step


@needs_proc
def test_machine_code_is_unmapped() -> None:
    mapped = []
    with override(specializations=8):
        for first in range(0, 120, 40):
            steps = range(first, first + 40)
            assert [increased(1, step) for step in steps] == [1 + step for step in steps]
            gc.collect()
            mapped.append(Path("/proc/self/maps").read_text().count("\n"))
    assert len(increased._compiled) == len(increased._entries) == 8
    assert mapped[2] - mapped[1] <= 10


def test_what_left_is_compiled_again() -> None:
    @tt.jit(opt_level=0)
    def scaled(n: tt.Int32, factor: tt.Constexpr[int]) -> Any:
        return n * factor

    with override(specializations=2):
        for _ in range(2):
            assert [scaled(3, factor) for factor in range(5)] == [0, 3, 6, 9, 12]


def test_a_compiled_function_that_is_held_stays() -> None:
    with override(specializations=1):
        held = increased.compile(1, 1000)
        for step in range(2000, 2012):
            increased(1, step)
        gc.collect()
        assert held(1) == 1001
        gone = weakref.ref(held)
        del held
        gc.collect()
        assert gone() is None


def test_code_that_runs_in_another_thread_stays() -> None:
    @tt.jit(opt_level=0)
    def long(n: tt.Int64, step: tt.Constexpr[int]) -> Any:
        total = n
        i = n
        while i > 0:
            total = total * 3 + step
            i = i - 1
        return total

    found = []
    with override(specializations=1):
        expected = long(50_000_000, 1)
        running = threading.Thread(target=lambda: found.append(long(50_000_000, 1)))
        running.start()
        while not running.is_alive():
            time.sleep(0.001)
        for step in range(2, 14):
            long(1, step)
            gc.collect()
        running.join()
    assert found == [expected]


def test_every_stage_can_be_looked_at_after_compilation() -> None:
    compiled = increased.compile(1, 77)
    assert "func.func @increased" in compiled.mlir
    assert "llvm.func" in compiled.lowered
    assert "define" in compiled.llvm
    assert "ret" in compiled.asm
    assert compiled.mlir == compiled.mlir
