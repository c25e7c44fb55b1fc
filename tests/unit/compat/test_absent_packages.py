"""Packages that programs import and that are not installed: the message says what to install."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from triptych.compat import absent_packages
from triptych.ir.errors import MissingPackageError


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package that no machine has."""
    monkeypatch.setitem(absent_packages.PACKAGES, "no_such_package_here", ("other-name", "only to draw"))
    undo = absent_packages.install()
    yield "no_such_package_here"
    undo()


def test_an_import_says_which_and_what_to_install(absent: str) -> None:
    with pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module(absent)
    assert isinstance(caught.value, MissingPackageError)
    assert caught.value.name == absent
    assert caught.value.instead == "pip install other-name (only to draw)"


def test_statements_and_modules_of_it_too(absent: str) -> None:
    for statement in (f"import {absent}.part", f"from {absent}.part.inner import name", f"import {absent} as other"):
        with pytest.raises(MissingPackageError, match=absent):
            exec(statement, {})


def test_a_question_gets_an_answer(absent: str) -> None:
    assert importlib.util.find_spec(absent) is None


def test_what_is_installed_is_imported(monkeypatch: pytest.MonkeyPatch, absent: str, tmp_path: Any) -> None:
    (tmp_path / f"{absent}.py").write_text("there = True")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert importlib.import_module(absent).there
    monkeypatch.delitem(sys.modules, absent)


def test_afterwards_python_says_it_as_ever() -> None:
    absent_packages.install()()
    with pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module("nvshmem_that_nobody_has")
    assert type(caught.value) is ModuleNotFoundError
