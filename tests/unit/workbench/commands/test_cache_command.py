"""`triptych cache`: what it lists, explains, checks, evicts and moves, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from triptych.compat.activation import deactivate
from triptych.support.config import override
from triptych.workbench.commands.cli import main

KERNELS = """
import triptych as tt

SCALE = 3


@tt.jit
def scaled(n: tt.Int32):
    return n * SCALE


plain = len
"""

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Runs the command with a store of its own; gives the exit code and what it says."""

    def command(*arguments: str) -> tuple[int, str]:
        status = main(["cache", *arguments])
        said = capsys.readouterr()
        return status, said.out + said.err

    (tmp_path / "kernels.py").write_text(KERNELS)
    with override(cache=True, cache_dir=str(tmp_path / "store")):
        yield command


def compiled(folder: Path) -> None:
    names: dict[str, Any] = {"__name__": "kernels", "__file__": str(folder / "kernels.py")}
    exec(compile(KERNELS, str(folder / "kernels.py"), "exec", dont_inherit=True), names)
    assert names["scaled"](2) == 6


def test_listing(run: Run, tmp_path: Path) -> None:
    assert run("ls") == (0, f"KEY  FUNCTION  TARGET  SIZE  USED\n0 programs, 0 B, in {tmp_path / 'store'}\n")
    compiled(tmp_path)
    status, text = run("ls")
    assert status == 0
    assert "scaled(n: Int32) -> Int32  cpu" in text
    (entry,) = json.loads(run("ls", "--json")[1])
    assert entry["facts"]["function"] == "scaled"
    assert entry["artifacts"]["object"] > 0


def test_why(run: Run, tmp_path: Path) -> None:
    place = f"{tmp_path / 'kernels.py'}:scaled"
    assert "the store has no program of this function" in run("why", place, "--args", "2")[1]
    compiled(tmp_path)
    assert run("why", place, "--args", "2")[1].startswith("kept: ")
    (tmp_path / "kernels.py").write_text(KERNELS.replace("SCALE = 3", "SCALE = 4"))
    (changed,) = json.loads(run("why", place, "--args", "2", "--json")[1])["differences"]
    assert changed["ingredient"] == "global SCALE"
    text = run("why", place, "--args", "2")[1]
    assert "global SCALE" in text
    assert "3 -> " in text
    status, text = run("why", f"{tmp_path / 'kernels.py'}:plain")
    assert (status, "TT0714" in text) == (2, True)


def test_why_of_a_public_program(run: Run, tmp_path: Path) -> None:
    """`cutlass` is Triptych there, as where the program ran."""
    public = KERNELS.replace("import triptych as tt", "import cutlass as tt\nimport cutlass.cute as cute")
    (tmp_path / "kernels.py").write_text(public.replace("@tt.jit", "@cute.jit"))
    try:
        status, text = run("why", f"{tmp_path / 'kernels.py'}:scaled", "--args", "2")
    finally:
        deactivate()
    assert (status, "the store has no program of this function" in text) == (0, True)


def test_checking_evicting_and_moving(run: Run, tmp_path: Path) -> None:
    compiled(tmp_path)
    assert run("verify") == (0, "good: 1, discarded: none\n")
    archive = str(tmp_path / "all.tar")
    assert json.loads(run("export", archive, "--json")[1])["entries"] == 1
    assert json.loads(run("prune", "--json")[1])["left"] == 0
    assert "0 programs" in run("ls")[1]
    assert run("import", archive) == (0, "good: 1, discarded: none\n")
    assert "1 programs" in run("ls")[1]


def test_refusals(run: Run) -> None:
    status, text = run("prune", "--to", "lots")
    assert (status, "'lots' is no size" in text) == (2, True)
    with override(cache=False):
        status, text = run("ls")
    assert (status, "TT0713" in text) == (2, True)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("import", "note.tar"), "TT0735"),
        (("import", "none.tar"), "TT0714"),
        (("import", "."), "TT0714"),
        (("export", "no/such/folder/x.tar"), "TT0714"),
    ],
)
def test_files_that_cannot_be_used(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], code: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "note.tar").write_text("hi")
    status, text = run(*words)
    assert status == 2
    assert f"[{code}]" in text
    assert "Traceback" not in text


def test_directory_that_is_not_private(run: Run, tmp_path: Path) -> None:
    compiled(tmp_path)
    (tmp_path / "store").chmod(0o777)
    status, text = run("ls")
    assert (status, "chmod 700" in text, "Traceback" in text) == (2, True, False)
