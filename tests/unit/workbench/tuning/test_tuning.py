"""`tune`: the table survives being killed, and every configuration has a reason."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from triptych.cute.tuning.rows import Row, counts
from triptych.workbench.commands.cli import main
from triptych.workbench.devices import device
from triptych.workbench.tuning.candidates import static_problems
from triptych.workbench.tuning.table import Table, append_crash

CONFIGS = [{"tile": size} for size in (1, 2, 4)]
FILE = """
import os
import time
import numpy as np
TUNE = {"pieces": [1, 3, 7, 40, 64, 99], "order": ["C"]}
def config_problems(device, pieces, order):
    return [] if 64 % pieces == 0 or pieces in (7, 40, 99) else [f"64 is no multiple of {pieces}"]
def kernel_fn(x, pieces=1, order="C"):
    if pieces == 7:
        raise ValueError("seven never works")
    if pieces == 40:
        os.kill(os.getpid(), 9)
    time.sleep(0.0004 * pieces if pieces != 99 else 0)
    return x + x if pieces != 99 else 3 * x
def reference_fn(x):
    return 2 * x
def get_inputs(seed=0):
    return [np.random.default_rng(seed).standard_normal(64, np.float32)]
"""


def test_rows_are_kept_after_every_configuration(tmp_path: Path) -> None:
    file = tmp_path / "table.jsonl"
    table = Table(file, "key", CONFIGS)
    table.put(Row(0, CONFIGS[0], "compiled", "compiled"))
    table.add_samples(0, [3.0])
    table.add_samples(0, [1.0, 2.0])
    append_crash(file, 1, "the process ended (signal SIGKILL)")
    with file.open("a", encoding="utf-8") as out:
        out.write('{"row": {"number": 2, "conf')  # killed here
    again = Table(file, "key", CONFIGS)
    assert again.left() == [2]
    assert (again.rows[0].best, again.rows[1].config, again.rows[1].state) == (2.0, {"tile": 2}, "failed")
    again.put(Row(2, CONFIGS[2], "pruned", "64 bytes are too many"))
    assert Table(file, "key", CONFIGS).left() == []
    assert counts(Table(file, "key", CONFIGS).rows.values())["pruned: bytes are too many"] == 1
    assert Table(file, "another key", CONFIGS).left() == [0, 1, 2]


def test_the_assemblers_numbers_prove_what_is_left_out() -> None:
    gpu = device("sm_120a")
    facts = {"registers": 255, "shared": 120_000, "spilled": 64, "threads": 512, "blocks_at_once": 0}
    kinds = [text.partition(":")[0] for text in static_problems(facts, gpu)]
    assert kinds == ["shared memory", "registers", "occupancy", "spills"]
    (idle,) = static_problems({"registers": 64, "threads": 64, "blocks_at_once": 1}, gpu)
    assert idle == "occupancy: 2 warps per SM (1 block of 64 threads): 2 of 4 schedulers idle"
    assert list(static_problems({"registers": 64, "shared": 4096, "blocks_at_once": 4}, gpu)) == []
    assert list(static_problems({}, device("cpu"))) == []


def test_every_configuration_has_a_reason(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """One is left out by a rule, one raises, one kills its process, one is fast and wrong: the best other wins."""
    file = tmp_path / "pieces.py"
    file.write_text(FILE, encoding="utf-8")
    choice = tmp_path / "choice.json"
    assert main(["tune", str(file), "--again", "--seconds", "0.02", "--json", "--export", str(choice)]) == 0
    found = json.loads(capfd.readouterr().out)
    reasons = {row["config"]["pieces"]: (row["state"], row["reason"]) for row in found["rows"]}
    assert reasons[3] == ("pruned", "64 is no multiple of 3")
    assert reasons[7] == ("failed", "ValueError: seven never works")
    assert reasons[40] == ("failed", "the process ended (signal SIGKILL)")
    assert reasons[99][1].startswith("wrong result: output 0[0] is")
    assert found["config"] == {"pieces": 1, "order": "C"}
    assert json.loads(choice.read_text(encoding="utf-8"))["choices"][0]["config"] == found["config"]
    assert main(["tune", str(file), "--strict", "--seconds", "0.02"]) == 1, "nothing is measured again"
    assert "best: #0 pieces=1" in capfd.readouterr().out
