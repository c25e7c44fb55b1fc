"""`triptych show` on the examples, at the width of a laptop and of a wide screen."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from triptych.workbench.commands.cli import main
from triptych.workbench.commands.show import SEPARATOR, STAGES

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"
LOOP = f"{EXAMPLES / 'loops.py'}:powers_in_a_loop"
SEARCH = f"{EXAMPLES / 'control_flow.py'}:search"

TYPICAL = {
    "source": "for i in range(4):",
    "rewritten": "_tt.for_(_tt.call(range, 4)",
    "mlir": "scf.for",
    "lowered": "llvm.mul",
    "llvm": "define internal",
    "asm": "__tvm_ffi_powers_in_a_loop:",
}


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["show", *arguments]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("width", [100, 160])
@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_stands_beside_the_source(stage: str, width: int, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, LOOP, "--args", "10", "--stage", stage, "--width", str(width))
    assert TYPICAL[stage] in text
    assert "total = total * x + i" in text
    assert max(map(len, text.splitlines())) <= width
    assert (SEPARATOR in text) == (stage != "source")


@pytest.mark.parametrize("width", [100, 160])
def test_lines_break_between_words(width: int, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, SEARCH, "--args", "100, 12", "--stage", "rewritten", "--width", str(width))
    right = [row.partition(SEPARATOR.rstrip())[2].strip() for row in text.splitlines()]
    words = {word for row in right for word in row.replace("(", " ").replace(")", " ").replace(",", " ").split()}
    assert {"_tt_return_value", "'_tt_continue_1'", "lambda:", "_tt_set_2"} <= words
    assert not words & {"_t", "_tt_retur", "_tt_return_v", "'_tt_contin", "ue_1'", "n_value"}


def test_all_stages_in_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, LOOP, "--args", "10", "--width", "160", "--stage", "all")
    titles = [row for row in text.splitlines() if row.startswith("── ")]
    assert [tuple(name for name in STAGES if f"── {name} " in title) for title in titles] == [
        ("source", "rewritten"),
        ("mlir", "lowered"),
        ("llvm", "asm"),
    ]


def test_a_reader_that_leaves_is_no_error() -> None:
    command = [sys.executable, "-m", "triptych", "show", LOOP, "--args", "10"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
    process.wait()


def test_without_a_stage_the_beginning_of_each(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, LOOP, "--args", "10", "--width", "160")
    assert len(text.splitlines()) < 90
    assert all(f"── {name} " in text for name in STAGES)
    assert "total = total * x + i" in text
    assert "lines more: --stage llvm, or all" in text
    assert "lines more: --stage asm, or all" in text
