"""Progress: a line every few seconds where nobody looks, a bar on a terminal, and what a child says on its way."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from triptych.workbench.processes import ask
from triptych.workbench.progress import EVERY, Lines, progress, seconds_left


class _Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> _Clock:
    return _Clock()


def test_a_short_command_says_nothing(clock: _Clock) -> None:
    out = io.StringIO()
    with progress("bench", out, clock) as bar:
        clock.now = EVERY / 2
        bar.say("measuring", 1, 2)
    assert out.getvalue() == ""


def test_lines_come_every_few_seconds_with_what_is_left(clock: _Clock) -> None:
    out = io.StringIO()
    bar = Lines("tune", out, clock)
    for second in range(10):
        clock.now = float(second)
        bar.say("measuring", second, 20, "best 1.5 ms")
    assert out.getvalue().splitlines() == [
        f"tune: measuring, {done} of 20, best 1.5 ms, {done} s, {20 - done} s left" for done in (3, 6, 9)
    ]


def test_time_goes_on_where_nothing_is_said(clock: _Clock) -> None:
    out = io.StringIO()
    bar = Lines("verify", out, clock)
    bar.say("loading")
    clock.now = EVERY
    bar.tick()
    assert out.getvalue() == "verify: loading, 3 s\n"


def test_what_is_left_is_not_known_before_the_first() -> None:
    assert seconds_left(0, 8, 5.0) is None
    assert seconds_left(None, None, 5.0) is None
    assert seconds_left(2, 8, 5.0) == 15.0


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_a_bar_that_goes_away() -> None:
    pytest.importorskip("rich")
    out = _Terminal()
    with progress("tune", out) as bar:
        bar.say("compiling [8]", 3, 8, "2 pruned")
        bar.tick()
    assert "compiling [8], 3 of 8" in out.getvalue()
    assert "2 pruned" in out.getvalue()


def test_what_the_child_is_doing_is_reported(tmp_path: Path) -> None:
    heard: list[str] = []

    class Told:
        def say(self, text: str, done: int | None = None, total: int | None = None, note: str = "") -> None:
            heard.append(text)

        def tick(self) -> None:
            pass

    file = tmp_path / "kernel.py"
    file.write_text("def kernel_fn(x): ...\n", encoding="utf-8")
    request: dict[str, Any] = {
        "file": str(file),
        "rtol": None,
        "atol": None,
        "cases": [],
        "seeds": 1,
        "allow_weak": False,
    }
    answer = ask("verify", request, 60.0, bar=Told())
    assert "TT0720" in answer.error
    assert heard
    assert heard[0].startswith("loading")
