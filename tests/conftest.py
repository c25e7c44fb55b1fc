"""Settings every test shares."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from tests.golden import Golden

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
