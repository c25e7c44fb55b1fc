"""A driver for tests that call compiled functions."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.targets.nvptx.fake_driver import COMPILER, FakeDriver
from triptych.targets.nvptx.runtime import driver


@pytest.fixture(scope="session")
def library_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled library."""
    file = tmp_path_factory.mktemp("driver") / "libfakecuda.so"
    source = Path(__file__).with_name("fake_driver.c")
    subprocess.run([str(COMPILER), "-shared", "-fPIC", "-o", str(file), str(source)], check=True)
    return file


@pytest.fixture
def fake(library_file: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    """The library as this process's driver."""
    library = ctypes.CDLL(str(library_file))
    library.fake_forget()
    monkeypatch.setattr(driver, "LIBRARIES", (str(library_file),))
    driver.find_driver.cache_clear()
    yield FakeDriver(library)
    driver.find_driver.cache_clear()
