"""The commands of the workbench, as a user calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from triptych.workbench.commands.cli import main

FILE = """
import numpy as np
def kernel_fn(x):
    print("noise")
    return x + x
def reference_fn(x):
    return 2 * x
def get_inputs(n=64, seed=0):
    return [np.random.default_rng(seed).standard_normal(n, np.float32)]
"""
MISSION = Path(__file__).parents[3] / "support" / "contract_files" / "mission_relu.txt"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "double.py"
    path.write_text(FILE, encoding="utf-8")
    return path


def test_verify_prints_json_and_nothing_else(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(file), "--seeds", "1", "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["verdict"], found["numbers"]["default"][0]["ulps"]) == ("pass", 0)


def test_a_crash_is_a_verdict_with_its_place(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file.write_text(FILE.replace('print("noise")', "import os; os.kill(os.getpid(), 11)"), encoding="utf-8")
    assert main(["verify", str(file)]) == 1
    assert "FAIL: the process ended (signal SIGSEGV) during kernel_fn (default, seed 0)" in capfd.readouterr().err


def test_a_kernel_that_never_ends_is_ended(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file.write_text(FILE.replace('print("noise")', "while True: pass"), encoding="utf-8")
    assert main(["verify", str(file), "--timeout", "2.5"]) == 1
    assert "FAIL: it took longer than 2.5 s during" in capfd.readouterr().err


REVERSED = """
import numpy as np
import triptych as tt
from triptych import cute

@tt.kernel
def reverse_kernel(x: cute.Tensor, y: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    held = cute.make_tensor(cute.arch.alloc_smem(tt.Float32, 64), cute.make_layout(64))
    held[t] = x[t]
    cute.arch.sync_threads()
    y[t] = held[63 - t]

@tt.jit
def reverse(x: cute.Tensor, y: cute.Tensor):
    reverse_kernel(x, y).launch(grid=1, block=64)

def kernel_fn(x):
    y = np.empty_like(x)
    reverse(x, y)
    return y

def reference_fn(x):
    return x[::-1].copy()

def get_inputs(seed=0):
    return [np.random.default_rng(seed).standard_normal(64, np.float32)]
"""


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (("    cute.arch.sync_threads()\n", ""), "[TT0630] a race in reverse_kernel"),
        (("y[t] =", "y[t + 10**8] ="), "[TT0610] an access of 4 bytes lies outside"),
        (("", ""), "checkers: bounds, races, init, async: nothing found"),
    ],
)
def test_verify_runs_the_checkers_first(
    file: Path, wrong: tuple[str, str], told: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Without them the first is right by chance, and the second ends the process."""
    file.write_text(REVERSED.replace(*wrong), encoding="utf-8")
    assert main(["verify", str(file), "--check", "--seeds", "1"]) == (wrong != ("", ""))
    out = capfd.readouterr().out
    assert told in out
    assert out.startswith("PASS" if wrong == ("", "") else "FAIL")


@pytest.mark.parametrize("command", ["verify", "bench", "tune", "profile", "check --costs"])
def test_a_case_that_is_not_there(file: Path, command: str, capfd: pytest.CaptureFixture[str]) -> None:
    file.write_text(FILE + "TUNE = {'tile': [1, 2]}\nCASES = {'large': {}}\n", encoding="utf-8")
    assert main([*command.split(), str(file), "--case", "lage"]) == 2
    told = capfd.readouterr().err
    assert "there is no case 'lage'\n  = expected: one of 'large'\n  = write: did you mean 'large'?" in told


def test_a_file_for_the_public_language_as_it_is_written(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    file.write_text(MISSION.read_text(encoding="utf-8"), encoding="utf-8")
    assert main(["verify", str(file), "--rtol", "1e-3", "--atol", "1e-3", "--seeds", "1"]) == 0
    assert capfd.readouterr().out.startswith("PASS")


def test_bench_one_file_two_files_and_a_record(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file.write_text(FILE.replace('print("noise")', "x = x.copy()"), encoding="utf-8")
    record = file.with_suffix(".json")
    quick = ["--seconds", "0.1", "--no-roofs", "--no-cold"]
    assert main(["bench", str(file), *quick, "--record", str(record), "--csv"]) == 0
    head, row = capfd.readouterr().out.splitlines()
    assert head.startswith("case,median")
    assert row.startswith("default,")
    quick += ["--processes", "2"]
    assert main(["bench", str(file), str(file), *quick]) == 0
    assert "default: the second is" in capfd.readouterr().out
    assert main(["bench", str(file), "--against", str(record), *quick, "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["against"]["digest"] == json.loads(record.read_text())["digest"]


def test_a_result_that_is_wrong_after_timing_is_reported(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    text = FILE.replace('print("noise")', "calls.append(0)").replace(
        "return x + x", "return (2 if len(calls) < 9 else 3) * x"
    )
    file.write_text(text.replace("def kernel_fn", "calls = []\ndef kernel_fn"), encoding="utf-8")
    assert main(["bench", str(file), "--seconds", "0.1", "--no-roofs", "--no-cold"]) == 1
    assert "WRONG AFTER TIMING" in capfd.readouterr().out
