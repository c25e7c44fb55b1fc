"""Many processes on one store. Mass runs are `python -m benchmarks.store_storm`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.integration.mounting import run_mounted
from tests.integration.subprograms import run

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")


def storm(*words: str) -> dict[str, Any]:
    finished = run("-m", "benchmarks.store_storm", "--json", *words)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    result: dict[str, Any] = json.loads(finished.stdout)
    return result


def test_sixteen_processes_make_eight_entries_eight_times() -> None:
    result = storm("--rounds", "4", "--kills", "0")
    assert result["made"] == 4 * 8
    assert result["claims"] == 0


def test_killed_processes_leave_nothing_torn_and_nobody_waiting() -> None:
    result = storm("--rounds", "8", "--kills", "6")
    assert result["killed"] > 0
    assert result["slowest"] < 20


def test_two_mount_points_of_one_directory(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    words = ("--json", "--rounds", "2", "--kills", "0", "--folder", str(one), "--also", str(two))
    finished = run_mounted("mount --bind one two", tmp_path, "-m", "benchmarks.store_storm", *words)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert json.loads(finished.stdout)["made"] == 2 * 8
