"""The tests for a GPU pass where there is one: here on the PTX simulator, so that a real one is not their first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.unit.targets.nvptx.tools import needs_assembler

ROOT = Path(__file__).resolve().parents[4]


@needs_assembler
def test_tests_for_a_gpu_pass_on_one_made_of_numpy() -> None:
    options = ("-q", "-p", "tests.support.ptx.plugin", "-p", "no:cacheprovider", "-k", "not torch")
    result = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "tests/gpu"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    last = result.stdout.splitlines()[-1]
    assert "passed" in last, result.stdout
    assert "failed" not in last, result.stdout
    assert "skipped" not in last, result.stdout
