"""Two kernels that cannot share a process, kernels that change their inputs, and records that are done again."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from triptych.workbench.commands.cli import main
from triptych.workbench.contracts.loading import clash, files_beside, load_contract
from triptych.workbench.measurement.benching import BenchOptions, bench, bench_pair
from triptych.workbench.measurement.candidate import LocalCandidate
from triptych.workbench.measurement.clocks import HostClock
from triptych.workbench.measurement.isolated_process import PROCESSES, CandidateFailed, turns
from triptych.workbench.measurement.records import schema
from triptych.workbench.measurement.sampling import Comparison, Interval, combined, compared
from triptych.workbench.measurement.worker import decided_again, differences, held, worker_main

KERNEL = """
import numpy as np
from helper import times
def kernel_fn(x):
    for _ in range(times):
        y = x + x
    return y
def reference_fn(x):
    return 2 * x
def get_inputs(n=4096, seed=0):
    return [np.random.default_rng(seed).standard_normal(n, np.float32)]
"""
IN_PLACE = """
import numpy as np
MUTATES = ("x",)
seen = []
def kernel_fn(x):
    seen.append(float(x[0]))
    x *= 2
def reference_fn(x):
    x *= 2
def get_inputs(n=64, seed=0):
    return [np.random.default_rng(seed).standard_normal(n, np.float32)]
"""
REQUEST = {"seconds": 0.2, "seed": 0, "cold": False, "with_roofs": False, "cases": [], "command": [], "processes": 1}


@pytest.fixture(autouse=True)
def _clean_path(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend("")
    yield
    sys.modules.pop("helper", None)


def made(folder: Path, times: str, kernel: str = KERNEL) -> Path:
    folder.mkdir()
    (folder / "helper.py").write_text(f"times = {times}\n", encoding="utf-8")
    file = folder / "kernel.py"
    file.write_text(kernel, encoding="utf-8")
    return file


def quietly(_: str) -> None:
    """Nobody asks."""


def test_files_with_modules_of_the_same_name_are_measured_in_two_processes(tmp_path: Path) -> None:
    files = [made(tmp_path / "a", "1"), made(tmp_path / "b", "30")]
    first = load_contract(files[0])
    assert files_beside(first) == {"helper.py": "times = 1\n"}
    assert clash(first, files[1]) == "both have helper.py beside them"
    assert clash(first, files[0]) == ""
    record = worker_main({**REQUEST, "files": [str(file) for file in files]}, quietly)
    assert record["apart"] == "both have helper.py beside them"
    (case,) = record["cases"]
    assert case["comparison"]["ratio"] > 5  # 30 times the work; with the helper of the first it would be equal
    assert case["verified"] == []
    assert record["second"]["beside"] == {"helper.py": "times = 30\n"}
    stored = tmp_path / "record.json"
    stored.write_text(json.dumps(record, allow_nan=False), encoding="utf-8")
    (again,) = worker_main({**REQUEST, "replay": str(stored)}, quietly)["cases"]
    assert again["comparison"]["ratio"] > 5


def test_a_side_that_fails_says_which_and_why(tmp_path: Path) -> None:
    files = [made(tmp_path / "a", "1"), made(tmp_path / "b", "1 / 0")]
    with pytest.raises(CandidateFailed, match=r"kernel\.py: ZeroDivisionError"):
        worker_main({**REQUEST, "files": [str(file) for file in files]}, quietly)


def test_a_side_that_dies_says_how(tmp_path: Path) -> None:
    files = [made(tmp_path / "a", "1"), made(tmp_path / "b", "__import__('os').abort()")]
    with pytest.raises(CandidateFailed, match="SIGABRT"):
        worker_main({**REQUEST, "files": [str(file) for file in files]}, quietly)


def test_inputs_that_are_changed_have_their_values_before_each_sample(tmp_path: Path) -> None:
    file = made(tmp_path / "a", "1", IN_PLACE)
    contract = load_contract(file)
    (x,) = contract.inputs(0)
    options = BenchOptions(seconds=0.05, with_roofs=False, processes=1)
    found = bench_pair([file, file], "default", {}, options, quietly)
    assert found["verified"] == []
    sides = [LocalCandidate(contract, {}, 0) for _ in range(2)]
    turns(sides[0], sides[1], HostClock(), 0.05, 0)
    seen = contract.kernel.__globals__["seen"]
    assert set(seen[-20:]) == {float(x[0])}
    figures = bench(contract, "default", {}, options)
    assert figures["verified"] == []
    assert figures["hot"]["batch"] == 1
    assert figures["cold"]["how"] == "evicted between calls"


def test_outputs_that_are_given_need_no_values_back(tmp_path: Path) -> None:
    text = IN_PLACE.replace("MUTATES", "OUTPUTS").replace("x *= 2", "x[...] = 3")
    contract = load_contract(made(tmp_path / "a", "1", text))
    assert contract.mutates == {0}
    assert not contract.restores
    figures = bench(contract, "default", {}, BenchOptions(seconds=0.05, with_roofs=False))
    assert figures["verified"] == []
    assert figures["bytes_touched"] == 256


def test_what_is_remembered_is_wrong_after_timing(tmp_path: Path) -> None:
    text = KERNEL.replace(
        "def kernel_fn(x):", "kept = {}\ndef kernel_fn(x):\n    return kept.setdefault(id(x), x + x)\n"
    )
    contract = load_contract(made(tmp_path / "a", "1", text))
    found = bench(contract, "default", {}, BenchOptions(seconds=0.05, cold=False, with_roofs=False))
    assert found["verified"][0].startswith("with new values in the same memory, output 0[0] is")


def facts(load: float, numpy: str = "2.0") -> dict[str, Any]:
    return {"machine": {"model": "a", "cores": 2, "load": [load]}, "versions": {"numpy": numpy}}


def hot(median: float) -> dict[str, Any]:
    samples = [median] * 9
    return {"hot": {"median": median, "low": median, "high": median, "samples": samples}, "noise": 0.001}


def test_a_figure_that_moved_is_decided_only_on_a_quiet_machine() -> None:
    assert held(hot(1e-4), hot(1.01e-4), facts(1), facts(1))["verdict"] == "holds"
    assert held(hot(1e-4), hot(1.3e-4), facts(1), facts(1))["verdict"] == "slower"
    assert held(hot(1e-4), hot(0.7e-4), facts(1), facts(1))["verdict"] == "faster"
    busy = held(hot(1e-4), hot(1.3e-4), facts(1), facts(7))
    assert busy["verdict"] == "undecided"
    assert "the machine was busy: load 1.0 then, 7.0 now, on 2 cores" in busy["text"]
    assert differences(facts(1, "1.9"), facts(1)) == ["numpy was 1.9, is 2.0"]


def test_verdicts_that_agree() -> None:
    then = {"comparison": {"verdict": "slower", "text": "slower: +5 %"}}
    assert decided_again(then, then)["verdict"] == "holds"
    now = {"comparison": {"verdict": "same", "text": "same within 1 %"}}
    assert decided_again(then, now)["verdict"] == "undecided"


def test_processes_that_do_not_agree_decide_nothing() -> None:
    def part(ratio: float) -> Comparison:
        return Comparison(Interval(ratio, ratio - 0.001, ratio + 0.001), 0.001, 100, [1.0], [1.0])

    assert combined([part(0.03), part(-0.02), part(0.04)]).verdict == "undecided"
    assert combined([part(0.050), part(0.051), part(0.050), part(0.049)]).verdict == "slower"


def drawn(random: np.random.Generator, slower: float, processes: int, spread: float) -> Comparison:
    """What a comparison finds where each process is off by a draw of its own, and each of its rounds by another."""
    parts = []
    for _ in range(processes):
        own = random.normal(0, spread)
        sides = np.array([[0.0], [slower + own], [0.0], [slower + own]])
        rounds = np.exp(random.normal(0, 0.03, (4, 40)) + sides)
        parts.append(compared(*rounds))
    return combined(parts) if processes > 1 else parts[0]


def test_equal_kernels_are_called_equal_however_processes_are_off() -> None:
    """1 of 500 may be called different. The intervals of single processes do not hold, whatever they say."""
    random, trials = np.random.default_rng(1), 150
    equal = [drawn(random, 0.0, PROCESSES, 0.012).verdict for _ in range(trials)]
    assert equal.count("faster") + equal.count("slower") <= 2
    slower = [drawn(random, 0.03, PROCESSES, 0.012).verdict for _ in range(trials)]
    assert slower.count("slower") >= 0.95 * trials
    assert "faster" not in slower
    alone = [drawn(random, 0.0, 1, 0.012).ratio for _ in range(trials)]
    assert sum(not each.low <= 0 <= each.high for each in alone) > trials / 20


def test_records_follow_the_published_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--schema"]) == 0
    assert json.loads(capsys.readouterr().out) == schema()
    jsonschema = pytest.importorskip("jsonschema")
    file = made(tmp_path / "a", "1")
    for files in ([str(file)], [str(file), str(file)]):
        record = worker_main({**REQUEST, "seconds": 0.05, "files": files}, quietly)
        jsonschema.validate(json.loads(json.dumps(record, allow_nan=False)), schema())


@pytest.mark.parametrize("words", [["a.py", "--replay", "r.json"], ["a.py", "b.py", "--against", "r.json"], []])
def test_how_many_files_there_may_be(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", *words]) == 2
    assert "bench takes one kernel file" in capsys.readouterr().err
