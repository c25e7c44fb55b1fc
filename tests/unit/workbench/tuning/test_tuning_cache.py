"""Choices that are kept: by kernel, problem, device and tools; the source tree first; nothing tunes unless asked."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from triptych.cute.tuning.trying import TuningWarning
from triptych.support.config import override
from triptych.workbench import tuned
from triptych.workbench.commands.cli import main
from triptych.workbench.contracts.loading import load_contract
from triptych.workbench.devices import device
from triptych.workbench.tuning.tuned_calls import bucket_of, problem_of
from triptych.workbench.tuning.tuning_cache import (
    SUFFIX,
    Choice,
    ChoiceFileError,
    Problem,
    choices_text,
    find_choice,
    keep,
    kernel_digest,
    merged,
    read_choices,
    write_choices,
)

KEY = Problem("kernel", "float32 4 x 4", "a machine", "triptych 1")
CHOICE = Choice("gemm", KEY, {"tile": 32}, 2e-3)


@pytest.fixture(autouse=True)
def store(tmp_path: Path) -> Iterator[None]:
    with override(cache_dir=str(tmp_path / "store"), tune=False):
        yield


def test_the_source_tree_comes_first(tmp_path: Path) -> None:
    file = tmp_path / "gemm.py"
    assert find_choice(KEY, file) is None
    keep(CHOICE)
    assert find_choice(KEY, file) == CHOICE
    ours = replace(CHOICE, config={"tile": 64})
    write_choices(file.with_suffix(SUFFIX), [ours])
    assert find_choice(KEY, file) == ours
    for other in ({"kernel": "x"}, {"problem": "x"}, {"device": "x"}, {"tools": "x"}):
        assert find_choice(replace(KEY, **other), file) is None


def test_merging_does_not_depend_on_the_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, whole = (tmp_path / name for name in ("a.json", "b.json", "c.json"))
    quicker = replace(CHOICE, config={"tile": 16}, seconds=1e-3)
    elsewhere = replace(CHOICE, key=replace(KEY, device="another machine"))
    write_choices(first, [CHOICE, elsewhere])
    write_choices(second, [quicker])
    found = [choices_text(merged(files).values()) for files in ((first, second), (second, first))]
    assert found[0] == found[1]
    assert main(["tune", "--merge", str(first), str(second), "--export", str(whole)]) == 0
    assert read_choices(whole) == {KEY.digest: quicker, elsewhere.key.digest: elsewhere}
    assert "2 choices of 2 files" in capsys.readouterr().out
    first.write_text('{"schema": "triptych.tuned/1"}', encoding="utf-8")
    assert main(["tune", "--merge", str(first)]) == 2
    assert "[TT0729]" in capsys.readouterr().err
    with pytest.raises(ChoiceFileError):
        read_choices(tmp_path / "none.json")


def test_the_kernel_is_its_text_without_what_is_tuned(tmp_path: Path) -> None:
    """Comments, docstrings, `TUNE` and `CASES` may change; code, and what is imported beside it, may not."""
    file, helper = tmp_path / "kernel.py", tmp_path / "parts.py"
    helper.write_text("STEP = 1\n", encoding="utf-8")

    def digest(text: str) -> str:
        file.write_text(text, encoding="utf-8")
        return kernel_digest(file)

    usual = digest('"""One."""\nimport parts\nTUNE = {"tile": [1]}\ndef kernel_fn(x, tile=1):\n    return x\n')
    space = "TUNE = space\ndef space(device): ...\n"
    assert usual == digest(f"import parts  # more\n{space}def kernel_fn(x, tile=1): return x\n")
    assert usual != digest("import parts\ndef kernel_fn(x, tile=1): return x + 1\n")
    same = file.read_text(encoding="utf-8")
    before = digest(same)
    helper.write_text("STEP = 2, 3\n", encoding="utf-8")
    assert before != digest(same)


SLEEPER = """
import time
import numpy as np
from triptych.workbench import tuned
TUNE = {"pieces": [3, 1, 2]}
CALLS = []
@tuned(TUNE)
def kernel_fn(x, pieces=3):
    CALLS.append(pieces)
    time.sleep(0.01 * pieces)
    return x + x
def reference_fn(x):
    return 2 * x
def get_inputs(n=64, seed=0):
    return [np.random.default_rng(seed).standard_normal(n, np.float32)]
"""


def test_a_run_never_tunes_unless_asked() -> None:
    calls = []

    @tuned({"pieces": [3, 1, 7]}, bucket=lambda x: {"n": -(-len(x) // 64) * 64})
    def slow(x: np.ndarray, pieces: int = 3) -> int:
        calls.append(pieces)
        if pieces == 7:
            raise ValueError("seven never works")
        time.sleep(0.01 * pieces)
        return pieces

    x = np.zeros(64, np.float32)
    assert (slow(x), slow(x, pieces=2)) == (3, 2)
    assert calls == [3, 2]
    with pytest.warns(TuningWarning, match="1 of 3 configurations failed: ValueError: seven never works"):
        assert slow(x, autotune=True) == 1
    assert [row.state for row in slow.rows] == ["measured", "measured", "failed"]
    calls.clear()
    assert (slow(x), slow(x[:60]), slow(x, pieces=3)) == (1, 1, 3), "the same bucket"
    assert calls == [1, 1, 3]
    assert slow(np.zeros(65, np.float32)) == 3, "another problem"
    with override(tune=True), pytest.warns(TuningWarning):
        assert slow(np.zeros(65, np.float32)) == 1


def test_two_processes_choose_the_same(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """`tune --export` beside the file: a process that finds nothing else takes what is in it, and tunes nothing."""
    file = tmp_path / "sleeper.py"
    file.write_text(SLEEPER, encoding="utf-8")
    exported = file.with_suffix(SUFFIX)
    assert main(["tune", str(file), "--again", "--seconds", "0.01", "--export", str(exported), "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["config"] == {"pieces": 1}
    program = "import sleeper; sleeper.kernel_fn(*sleeper.get_inputs()); print(sleeper.CALLS)"
    runs = [
        subprocess.run(
            [sys.executable, "-c", f"import sys; sys.path[:0] = [{str(tmp_path)!r}, *{sys.path!r}]; {program}"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    ]
    assert runs == ["[1]\n", "[1]\n"]
    contract = load_contract(file, "sleeper")
    key = problem_of(file, bucket_of(contract, contract.inputs(0)), device("cpu"))
    assert read_choices(exported)[key.digest].config == {"pieces": 1}
