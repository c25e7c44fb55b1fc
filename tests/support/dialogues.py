"""Dialogues with Python's debugger, in this process: a program runs, commands answer its prompts."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from triptych.support.config import override

PROMPT = "(Pdb) "


def pythons_own() -> None:
    """In the place of pytest's, which would be asked first."""
    pytest.fail("a debugger for kernels opens by itself")


class Dialogue:
    """Runs programs from files of a folder, under a debugger that takes commands from a list."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder = folder
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    def hold(
        self,
        program: str,
        commands: list[str],
        name: str = "program",
        hook: Callable[[], object] | None = None,
        **settings: object,
    ) -> str:
        """What a terminal would show: the output with each command after its prompt."""
        file = self._folder / f"{name}.py"
        file.write_text(program, encoding="utf-8")
        self._monkeypatch.setattr(sys, "breakpointhook", hook or sys.__breakpointhook__)
        self._monkeypatch.setattr("pdb.set_trace", pythons_own)
        self._monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{command}\n" for command in commands)))
        self._capsys.readouterr()
        with override(**{"debug": "break", **settings}):
            exec(compile(program, file, "exec"), {"__name__": "__main__"})
        printed = self._capsys.readouterr().out.replace(f"{self._folder}/", "")
        first, *rest = printed.split(PROMPT)
        return first + "".join(f"{PROMPT}{command}\n{answer}" for command, answer in zip(commands, rest, strict=True))


@pytest.fixture
def dialogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Dialogue:
    return Dialogue(tmp_path, monkeypatch, capsys)
