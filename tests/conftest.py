"""Settings every test shares."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.golden import Golden
from triptych.metastage.trace.ptx_lowerings import MEANINGS

# Tests see compilations; those of the store switch it on, each with a directory of its own.
os.environ["TRIPTYCH_CACHE"] = "0"

pytest_plugins = ("tests.support.machines",)

# No deadline: the first example of a test may import MLIR. Derandomised, so that a red run can be repeated.
settings.register_profile("triptych", deadline=None, derandomize=True)
settings.load_profile("triptych")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden texts instead of comparing them")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Texts kept beside the tests."""
    return Golden(update=bool(request.config.getoption("--update-golden")))


@pytest.fixture(autouse=True)
def _own_meanings() -> Iterator[None]:
    """What a program says that an instruction means is said to the process: no test says it to the next one."""
    before = dict(MEANINGS)
    yield
    MEANINGS.clear()
    MEANINGS.update(before)
