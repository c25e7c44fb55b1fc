"""Test rungs: every test has exactly one, and `pytest -m pure` needs neither MLIR nor LLVM."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

import pytest

from tests.contracts.tree import ROOT, relative
from tests.integration.subprograms import run
from tests.rungs import BY_PATH, RUNGS, rung_of

IMPORTER = """
import pytest
pytest.main(["-m", "pure", "-q", "-p", "no:cacheprovider", "tests/unit/interop"])
try:
    import torch_mlir
except ModuleNotFoundError as error:
    print(str(error).partition("; ")[2])
"""


def test_each_collected_test_has_one_rung(request: pytest.FixtureRequest) -> None:
    """All tests when all of them are run, as by .ci/run."""
    for item in request.session.items:
        own = {mark.name for mark in item.iter_markers()} & RUNGS.keys()
        assert len(own) == 1, f"{item.nodeid} has the rungs {sorted(own)}"


def test_the_rung_of_a_file_is_that_of_the_longest_path() -> None:
    for place, rung in BY_PATH.items():
        assert rung_of(PurePosixPath(place)) == rung
    assert rung_of(PurePosixPath("tests/unit/prestage/deeper/test_any.py")) == "pure"
    assert rung_of(PurePosixPath("tests/unit/test_any.py")) == "cpu"


@pytest.mark.parametrize("place", sorted(BY_PATH))
def test_a_row_says_something(place: str) -> None:
    """It names a path with tests, and another rung than what lies above it."""
    path = ROOT / place
    assert path.is_file() or next(path.rglob("test_*.py"), None), f"{place} holds no tests"
    assert place == "tests" or rung_of(PurePosixPath(place).parent) != BY_PATH[place], f"{place} has its folder's rung"


def test_pure_tests_are_collected_without_mlir() -> None:
    """All files of the rung are read, and no other."""
    finished = run("-m", "pytest", "-m", "pure", "--collect-only", "-q", "-p", "no:cacheprovider")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    found = re.findall(r"^(tests/[\w/]+\.py)::", finished.stdout, re.MULTILINE)
    files = [relative(path) for path in (ROOT / "tests").rglob("test_*.py")]
    assert set(found) == {place for place in files if rung_of(PurePosixPath(place)) == "pure"}


def test_pure_tests_cannot_import_mlir() -> None:
    finished = run("-c", IMPORTER)
    assert finished.stdout.splitlines()[-1] == "None in sys.modules", finished.stdout + finished.stderr
