"""Every example runs as a user runs it, and prints what is kept in `expected/`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.golden import Golden

ROOT = Path(__file__).resolve().parents[2]
EXPECTED = Path(__file__).parent / "expected"
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def test_there_are_examples() -> None:
    assert "stages" in [example.stem for example in EXAMPLES]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_prints_what_is_expected(example: Path, golden: Golden) -> None:
    result = subprocess.run([sys.executable, example], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    golden.check(EXPECTED / f"{example.stem}.txt", result.stdout)
