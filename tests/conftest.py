"""Settings every test shares."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import rungs
from tests.golden import Golden
from tests.support.examples import load_profile
from triptych.metastage.calls.repeatability import LOWERINGS

# Tests see compilations; those of the store switch it on, each with a directory of its own.
os.environ["TRIPTYCH_CACHE"] = "0"

pytest_plugins = ("tests.support.machines",)

load_profile()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden texts instead of comparing them")


def pytest_configure(config: pytest.Config) -> None:
    """The rungs as markers; under `-m pure`, whoever imports MLIR or LLVM fails."""
    for name, meaning in rungs.RUNGS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    if config.option.markexpr == "pure":
        forbidden: dict[str, Any] = dict.fromkeys(rungs.COMPILERS)
        sys.modules.update(forbidden)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files of other rungs are not imported."""
    return rungs.is_left_out(collection_path, config.option.markexpr) or None


def pytest_itemcollected(item: pytest.Item) -> None:
    """Each test has its rung before `-m` chooses."""
    rungs.mark(item)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Texts kept beside the tests."""
    return Golden(update=bool(request.config.getoption("--update-golden")))


@pytest.fixture(autouse=True)
def _own_meanings() -> Iterator[None]:
    """What a program says that an instruction means is said to the process: no test says it to the next one."""
    before = dict(LOWERINGS)
    yield
    LOWERINGS.clear()
    LOWERINGS.update(before)
