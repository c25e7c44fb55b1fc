"""`breakpoint()` in kernels: dialogues with the debugger, and what a user can get wrong. The pass is `lower-stops`."""

from __future__ import annotations

import bdb
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import triptych as tt
from tests.support.dialogues import PROMPT, Dialogue, dialogue
from triptych import cute
from triptych.diagnostics.runtime_errors import OutOfBoundsError
from triptych.support.config import override
from triptych.support.errors import TriptychWarning
from triptych.targets.cpu.debugger.lower_stops import STOPS

__all__ = ["dialogue"]

GUIDE = Path(__file__).parents[5] / "docs" / "guides" / "stopping-a-thread.md"
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)

HEAD = """
import numpy as np

import triptych as tt
from triptych import cute

"""
VALUES = (
    HEAD
    + """
class Pair:
    def __init__(self, low, high):
        self.low = low
        self.high = high


@tt.kernel
def k(x: cute.Tensor, n: tt.Int32):
    t, _, _ = cute.arch.thread_idx()
    b, _, _ = cute.arch.block_idx()
    shared = cute.SmemAllocator().allocate_tensor(
        tt.Float16, cute.make_layout((8, 64), stride=(64, 1)), 128, cute.make_swizzle(3, 4, 3)
    )
    for i in range(8):
        shared[i, t] = tt.Float16(i * 64 + t)
    cute.arch.sync_threads()
    part = cute.local_tile(x, (8,), (b,))
    vector = part.load()
    both = (t, vector[0] > 7, Pair(t - 1, "text"))
    narrow = tt.Float32(t).to(tt.Float8E4M3FN)
    wide = tt.Int128(t) << 100
    small = tt.Uint8(250) + tt.Uint8(t)
    if t > 60 and b == 1:
        only = t * 2
        breakpoint()
        x[t] = only


@tt.jit
def run(x: cute.Tensor, n: tt.Int32):
    k(x, n).launch(grid=2, block=64)


run(np.arange(64, dtype=np.float32), 5)
"""
)
SMALL = (
    HEAD
    + """
@tt.kernel
def k(x: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    x[t] = t

    x[t] = (
        x[t] + 1
    )


@tt.jit
def run(x: cute.Tensor):
    k(x).launch(grid=2, block=4)


x = np.zeros(4, np.int32)
run(x)
print(x)
"""
)
LINE = SMALL.splitlines().index("    x[t] = t") + 1


def test_the_dialogue_of_the_guide(dialogue: Dialogue, pytestconfig: pytest.Config) -> None:
    page = GUIDE.read_text(encoding="utf-8")
    (program,), (shown,) = PYTHON.findall(page), SHOWN.findall(page)
    commands = [line.removeprefix(PROMPT) for line in shown.splitlines() if line.startswith(PROMPT)]
    held = dialogue.hold(program, commands, "sums")
    if pytestconfig.getoption("--update-golden"):
        GUIDE.write_text(page.replace(shown, held), encoding="utf-8")
    else:
        assert held == shown


def test_values_of_every_kind(dialogue: Dialogue) -> None:
    asked = {
        "p t, b, n, narrow, wide == t << 100, small": "(61, 1, 5, 60.0, True, 55)",
        "p both[0], both[1], both[2], both[2].low": "(61, True, Pair(low=60, high='text'), 60)",
        "p vector[7], vector.shape, part[0], len(part)": "(15.0, (8,), 8.0, 8)",
        "p shared[0, t], shared[3, 5], shared[7, t]": "(61.0, 197.0, 509.0)",
        "p lanes(only)": f"threads 32 to 63: {'- ' * 29}122 124 126",
        "p lanes(b)": f"threads 32 to 63: {' '.join(['1'] * 32)}",
        "p lanes('t')": "*** TypeError: lanes() takes a name whose value differs between threads, not str: lanes(x), "
        "not lanes(x + 1)",
        "part[0] = 3": "*** TypeError: values of a kernel can be looked at in a debugger, not changed",
    }
    held = dialogue.hold(VALUES, [*asked, "c"])
    for command, answer in asked.items():
        assert f"{PROMPT}{command}\n{answer}\n" in held
    assert "kernel k: block (1, 0, 0), thread (61, 0, 0)" in held


def test_a_place_without_an_edit(dialogue: Dialogue, capsys: pytest.CaptureFixture[str]) -> None:
    held = dialogue.hold(SMALL, ["p t", "t = 9", "n", "p t, x", "c"], break_=f"program.py:{LINE}@1,2")
    assert held.startswith("kernel k: block (1, 0, 0), thread (2, 0, 0)\n> program.py")
    assert f"{PROMPT}p t\n2\n" in held
    assert "(2, tensor<" in held  # an assignment does not reach the kernel
    assert held.endswith("[1 2 3 4]\n")


def test_leaving_ends_the_launch(dialogue: Dialogue) -> None:
    with pytest.raises(bdb.BdbQuit):
        dialogue.hold(SMALL, ["q"], break_=f"program.py:{LINE}")


def test_an_interrupt_at_the_prompt_ends_the_launch(dialogue: Dialogue, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(prompt: str = "") -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", interrupted)
    with pytest.raises(KeyboardInterrupt):
        dialogue.hold(SMALL, [], break_=f"program.py:{LINE}")


def test_a_notebook_answers_by_its_own_input(dialogue: Dialogue, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its kernel has loaded the debugger of an editor that is not there, and asks its page in place of a terminal."""
    answers = iter(["p t", "c"])
    asked: list[str] = []

    def ask(prompt: str = "") -> str:
        asked.append(prompt)
        return next(answers)

    def wait_for_the_editor() -> None:
        pytest.fail("nobody is there")

    wait_for_the_editor.__module__ = "debugpy.force_pydevd"
    monkeypatch.setattr("builtins.input", ask)
    shown = dialogue.hold(SMALL, [], "notebook", wait_for_the_editor, break_=f"notebook.py:{LINE}@0,1")
    assert asked == [PROMPT, PROMPT]
    assert shown.startswith("kernel k: block (0, 0, 0), thread (1, 0, 0)\n> notebook.py")


def test_release_builds_have_no_stops() -> None:
    @tt.kernel
    def fill(x: cute.Tensor) -> None:
        x[0] = 1

    @tt.jit
    def run(x: cute.Tensor) -> None:
        fill(x).launch(grid=1, block=4)

    tensor = cute.runtime.make_fake_tensor(tt.Int32, (4,), (1,))
    assert not any(stop.partition(".")[0] in tt.compile(run, tensor).mlir for stop in STOPS)
    with override(debug="break"):
        assert "check.stop" in tt.compile(run, tensor).mlir


def test_host_code_stops_while_it_is_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[int] = []
    monkeypatch.setattr(sys, "breakpointhook", lambda: stopped.append(sys._getframe(1).f_lineno))

    @tt.jit
    def run(n: tt.Int32) -> tt.Int32:
        breakpoint()  # noqa: T100 - what the test is about
        return n + 1

    with pytest.warns(TriptychWarning, match="host code of a compiled function has no stops"):
        assert [run(1), run(2)] == [2, 3]
    assert len(stopped) == 1


def test_a_failing_thread_leaves_its_frames() -> None:
    def reach(x: cute.Tensor, where: tt.Int32) -> tt.Float32:
        far = where + 60
        return x[far]  # type: ignore[no-any-return]

    @tt.kernel
    def k(x: cute.Tensor) -> None:
        t, _, _ = cute.arch.thread_idx()
        own = cute.make_rmem_tensor((2, 2), tt.Float32)
        own.fill(t * 1.5)
        x[t] = reach(x, t)

    @tt.jit
    def run(x: cute.Tensor) -> None:
        k(x).launch(grid=1, block=32)

    with override(debug="bounds,break"), pytest.raises(OutOfBoundsError) as raised:
        run(np.zeros(64, np.float32))
    frames = [entry.frame.f_locals for entry in raised.traceback[-2:]]
    assert [raised.traceback[i].name for i in (-2, -1)] == ["k", "reach"]
    assert frames[1]["far"] == 64
    assert frames[0]["t"] == 4
    assert list(frames[0]["own"]) == [6.0] * 4


def test_a_job_without_a_terminal_does_not_wait(tmp_path: Path) -> None:
    """A pipe that nobody writes to, as some services give it: the most patient of all."""
    file = tmp_path / "program.py"
    file.write_text(VALUES, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, str(file)],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "TRIPTYCH_DEBUG": "break", "PYTHONBREAKPOINT": ""},
        text=True,
    ) as process:
        assert process.stderr is not None
        said = process.stderr.read()
        assert "[TT0614]" in said
        assert re.search(r"\n\d+ \| (?P<indent> +)breakpoint\(\)\n +\| (?P=indent)\^{12}\n", said), said
        assert process.wait() == 1
