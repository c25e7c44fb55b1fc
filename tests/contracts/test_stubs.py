"""The stubs say what the run-time tables say, and nothing else is hidden behind a stub."""

from __future__ import annotations

import importlib

import pytest

from tests.contracts.stubs import numbers_stub, package_stub
from tests.contracts.tree import PACKAGE
from tests.golden import Golden

LAZY = {"triptych": PACKAGE / "__init__.pyi", "triptych.cute": PACKAGE / "cute" / "__init__.pyi"}
NUMBERS = PACKAGE / "metastage" / "values" / "scalars.pyi"


@pytest.mark.parametrize("name", LAZY)
def test_stub_of_a_package_is_its_table(name: str, golden: Golden) -> None:
    golden.check(LAZY[name], package_stub(importlib.import_module(name)))


def test_stub_of_the_numbers_is_the_promotion_of_the_compiler(golden: Golden) -> None:
    golden.check(NUMBERS, numbers_stub())


def test_every_stub_is_one_of_these() -> None:
    """A stub hides its module from the type checker, so one that nothing compares would rot."""
    assert set(PACKAGE.rglob("*.pyi")) == {*LAZY.values(), NUMBERS}
