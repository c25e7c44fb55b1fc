"""Every kernel example runs as a user runs it and checks itself; also in the debug build and in any order of blocks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from triptych.workbench.commands.cli import main

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "kernels"
EXAMPLES = sorted(file.stem for file in FOLDER.glob("*.py"))
BUILDS = {
    "release": {},
    "checked": {"TRIPTYCH_DEBUG": "bounds", "TRIPTYCH_BLOCK_ORDER": "shuffled"},
}


def run(example: str, *options: str, **settings: str) -> str:
    """What the example prints; it fails if the example does."""
    result = subprocess.run(
        [sys.executable, FOLDER / f"{example}.py", *options],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **settings},
    )
    assert (result.returncode, result.stderr) == (0, ""), result.stdout
    return result.stdout


def test_the_kernels_that_everybody_writes_are_there() -> None:
    wanted = """
        hello_world vector_add relu elementwise_apply epilogues softmax block_reduction warp_reduction layer_norm
        rms_norm histogram transpose gemm sgemm tensor_core_gemm hopper_gemm flash_attention
    """
    assert set(wanted.split()) <= set(EXAMPLES)


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("example", EXAMPLES)
def test_example_agrees_with_numpy(example: str, build: str) -> None:
    assert run(example, **BUILDS[build])


def test_hello_world_prints_at_both_stages() -> None:
    run_time = ["hello from the host", *(f"hello from block 0, thread {thread}" for thread in (0, 2, 4))]
    assert run("hello_world").splitlines() == [
        "the first call traces, compiles and runs:",
        "tracing the host function",
        "tracing the kernel: the thread is ?",
        *run_time,
        "the second call runs:",
        *run_time,
    ]


def test_an_example_is_measured_with_its_baseline(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", str(FOLDER / "relu.py"), "--seconds", "0.2", "--no-roofs", "--no-cold"]) == 0
    head, row, baseline, _ = capfd.readouterr().out.splitlines()
    assert head.startswith("case")
    assert re.match(r"large +[\d.]+ [mµ]s +.* GB/s", row)
    assert baseline.startswith("large: against the baseline")


def test_a_wrong_result_is_noticed(tmp_path: Path) -> None:
    """An example with a mistake in its kernel must not pass."""
    text = (FOLDER / "relu.py").read_text(encoding="utf-8")
    (tmp_path / "relu.py").write_text(text.replace("x[i], 0.0)", "x[i], 0.5)"), encoding="utf-8")
    result = subprocess.run([sys.executable, tmp_path / "relu.py"], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stdout.startswith("FAIL")
