"""What one process has compiled, another calls: same results and errors, without MLIR or LLVM; and what is not kept."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

COMPILERS = ("torch_mlir", "llvmlite")

PROGRAM = """
import json, os, sys
from dataclasses import dataclass
from typing import NamedTuple
import numpy as np
import triptych as tt
from triptych import cute
from triptych.artifact_store.events import add_hook

EVENTS = []
add_hook(lambda event: EVENTS.append(event.kind))
SCALE = 3

class Two(NamedTuple):
    a: tt.Int32
    b: tt.Int32

@tt.jit
def add(a: tt.Int32, b: tt.Int32): return a + b * SCALE
@tt.jit
def both(a: tt.Int32, b: tt.Int32): return a + b, (a - b, 2.5, None, True, "text")
@tt.jit
def named(a: tt.Int32, b: tt.Int32): return Two(b, a)
@tt.jit
def nothing(a: tt.Int32, b: tt.Int32): pass
@tt.jit
def divided(a: tt.Int32, b: tt.Int32): return a // b
@tt.jit
def printing(a: tt.Int32, b: tt.Int32):
    cute.printf("sum {}", a + b)
@tt.jit
def noisy(a: tt.Int32, b: tt.Int32):
    print("tracing")
    return a + b
class Assigning:
    calls = 0
    @tt.jit
    def scaled(self, a: tt.Int32):
        self.by = 7
        self.calls = self.calls + 1
        self.last = a
        return a * self.by
assigning = Assigning()
SEEN = []
@tt.jit
def appending(a: tt.Int32):
    SEEN.append("appending")
    return a + len(SEEN)
@tt.jit(preprocessor=False)
def unseen(a: tt.Int32): return a + SCALE
@tt.jit
def from_file(a: tt.Int32, b: tt.Int32):
    return a + tt.at_trace_time(len, tt.at_trace_time(os.listdir, "."))
@tt.jit
def static(a: tt.Int32, n: tt.Constexpr):
    return a * int(np.prod((n, n)))
@tt.kernel
def saxpy_kernel(a: tt.Float32, x: cute.Tensor, y: cute.Tensor):
    i = cute.arch.block_idx()[0] * cute.arch.block_dim()[0] + cute.arch.thread_idx()[0]
    if i < x.shape[0]:
        y[i] = a * x[i] + y[i]
@tt.jit
def saxpy(a: tt.Float32, x: cute.Tensor, y: cute.Tensor):
    saxpy_kernel(a, x, y).launch(grid=(x.shape[0] + 127) // 128, block=128)

def arrays():
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    saxpy(2.0, x, y)
    return float(y.sum())
"""


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Runs an expression over the program's functions in a process of its own; gives its value and what was seen."""
    (tmp_path / "program.py").write_text(PROGRAM)

    def in_process(expression: str, **changes: str) -> dict[str, Any]:
        text = PROGRAM
        for old, new in changes.items():
            text = text.replace(f"{old} = 3", f"{old} = {new}")
        (tmp_path / "program.py").write_text(text)
        code = (
            f"import json, sys; from program import *; value = {expression}\n"
            f"loaded = [name for name in {COMPILERS} if name in sys.modules]\n"
            "print(json.dumps({'value': value, 'loaded': loaded, 'events': EVENTS}))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env={**os.environ, "TRIPTYCH_CACHE": "1", "TRIPTYCH_CACHE_DIR": str(tmp_path / "store")},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        *printed, last = done.stdout.splitlines()
        return {**json.loads(last), "printed": printed, "said": done.stderr}

    return in_process


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("add(2, 5)", 17),
        ("both(7, 3)", [10, [4, 2.5, None, True, "text"]]),
        ("nothing(1, 2)", None),
        ("static(2, 4)", 32),
        ("arrays()", 1000.0 + 999 * 1000),
    ],
)
def test_a_second_process_compiles_nothing(run: Callable[..., dict[str, Any]], expression: str, value: object) -> None:
    first, second = run(expression), run(expression)
    assert first["value"] == second["value"] == value
    assert "torch_mlir" in first["loaded"]
    assert "publish" in first["events"]
    assert second["loaded"] == []
    assert set(second["events"]) == {"hit"}


def test_what_the_program_prints_and_raises_is_the_same(run: Callable[..., dict[str, Any]]) -> None:
    first, second = run("printing(1, 2)"), run("printing(1, 2)")
    assert second["loaded"] == []
    assert first["printed"] == second["printed"] == ["sum 3"]
    caught = "str(__import__('pytest').raises(ZeroDivisionError, divided, 1, 0).value)"
    first, second = run(caught), run(caught)
    assert first["value"] == second["value"]
    assert f"program.py:{PROGRAM[: PROGRAM.index('def divided')].count(chr(10)) + 1}:" in second["value"]
    assert second["loaded"] == []


def test_a_change_of_what_is_read_is_a_miss(run: Callable[..., dict[str, Any]]) -> None:
    assert run("add(2, 5)")["value"] == 17
    changed = run("add(2, 5)", SCALE="4")
    assert (changed["value"], "miss" in changed["events"]) == (22, True)
    assert run("add(2, 5)")["events"] == ["hit"]


def test_other_arguments_are_a_miss(run: Callable[..., dict[str, Any]]) -> None:
    run("static(2, 4)")
    other = run("static(2, 5)")
    assert (other["value"], "miss" in other["events"]) == (50, True)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("named(1, 2)", [2, 1]),
        ("noisy(1, 2)", 3),
        ("assigning.scaled(5), assigning.by, assigning.calls", [35, 7, 1]),
        ("appending(5), SEEN", [6, ["appending"]]),
        ("unseen(5)", 8),
    ],
)
def test_code_of_a_program_that_each_process_traces_is_found_by_the_trace(
    run: Callable[..., dict[str, Any]], expression: str, value: object
) -> None:
    first, second = run(expression), run(expression)
    assert first["value"] == second["value"] == value
    assert first["printed"] == second["printed"]
    assert "publish" in first["events"]
    assert second["events"][-2:] == ["unkept", "hit"]
    assert "publish" not in second["events"]
    assert "llvmlite" not in second["loaded"]


def test_stages_of_code_that_was_found_by_its_trace_can_be_looked_at(run: Callable[..., dict[str, Any]]) -> None:
    look = "(lambda f: [f(2, 5), f.rewritten, f.mlir, f.lowered, f.llvm, f.asm, f.unkept])(tt.compile(noisy, 1, 2))"
    first, second = run(look), run(look)
    assert first["value"] == second["value"]
    assert "hit" in second["events"]


def test_a_sealed_process_may_trace_but_not_compile(
    run: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run("noisy(1, 2)")
    monkeypatch.setenv("TRIPTYCH_SEALED", "1")
    assert run("noisy(1, 2)")["value"] == first["value"]
    caught = "type(__import__('pytest').raises(tt.TriptychError, appending, 5).value).__name__"
    assert run(caught)["value"] == "SealedError"


def test_the_log_tells_of_a_program_that_was_found(
    run: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIPTYCH_LOG", "info")
    assert "triptych.cache: miss" in run("add(1, 2)")["said"]
    assert "triptych.cache: hit" in run("add(1, 2)")["said"]


def test_what_was_read_from_the_world_is_asked_again(run: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    before = run("from_file(0, 0)")
    (tmp_path / "one more file").write_text("")
    assert run("from_file(0, 0)")["value"] == before["value"] + 1


def test_stages_can_be_looked_at(run: Callable[..., dict[str, Any]]) -> None:
    look = "(lambda f: [f(2, 5), f.source, f.rewritten, f.mlir, f.lowered, f.llvm, f.asm])(tt.compile(add, 1, 2))"
    first, second = run(look), run(look)
    assert first["value"] == second["value"]
    assert "hit" in second["events"]


def test_one_who_wants_to_see_the_ir_compiles(
    run: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run("add(2, 5)")
    monkeypatch.setenv("TRIPTYCH_PRINT_IR", "1")
    assert "hit" not in run("add(2, 5)")["events"]


def test_a_damaged_object_file_is_compiled_again(run: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    run("add(2, 5)")
    for artifact in (tmp_path / "store" / "cas").rglob("*"):
        if artifact.is_file():
            content = bytearray(artifact.read_bytes())
            content[len(content) // 2] ^= 1
            artifact.write_bytes(content)
    again = run("add(2, 5)")
    assert again["value"] == 17
    assert "discard" in again["events"]
    assert run("add(2, 5)")["events"] == ["hit"]
