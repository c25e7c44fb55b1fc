"""The public API: what a user may rely on stays, or leaves by the rules of `docs/guides/versions.md`."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import pytest

from docs.site import api
from triptych.workbench.api_entries import public_names

PROMISED = Path(__file__).with_name("public_api.txt")
NEEDS_LIBRARIES = {"triptych.jax", "triptych.torch"}
MODULES = [name for area in api.AREAS for name in area.modules if name not in NEEDS_LIBRARIES]


def present() -> dict[str, list[str]]:
    """Every public name, with the names of its parameters if it is a function."""
    return {
        f"{name}.{member}": _parameters(value)
        for name in MODULES
        for member, value in public_names(importlib.import_module(name))
    }


def _parameters(value: object) -> list[str]:
    if not inspect.isfunction(value):
        return []
    return [name for name in inspect.signature(value).parameters if not name.startswith("_")]


def promised() -> dict[str, list[str]]:
    lines = PROMISED.read_text(encoding="utf-8").splitlines()
    return {name: parameters.split() for name, _, parameters in (line.partition(" ") for line in lines)}


def broken(before: dict[str, list[str]], after: dict[str, list[str]]) -> list[str]:
    """What programs that were written for `before` would miss: names, and parameters of functions."""
    gone = [name for name in before if name not in after]
    lost = [
        f"{name}({parameter})"
        for name, parameters in before.items()
        for parameter in parameters
        if name in after and parameter not in after[name]
    ]
    return gone + lost


def test_nothing_that_was_promised_is_gone(pytestconfig: pytest.Config) -> None:
    found = present()
    if pytestconfig.getoption("--update-golden"):
        lines = (" ".join([name, *parameters]) for name, parameters in sorted(found.items()))
        PROMISED.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert broken(promised(), found) == [], "deprecate first; then `pytest --update-golden`"
    added = sorted(set(found) - set(promised()))
    assert not added, "new names are promised from now on: `pytest --update-golden`"


@pytest.mark.parametrize("name", ["triptych.jit", "triptych.cute.make_layout"])
def test_a_name_that_leaves_is_found(name: str) -> None:
    assert broken(promised(), {other: value for other, value in present().items() if other != name}) == [name]


def test_a_parameter_that_leaves_is_found() -> None:
    before = promised()
    name, parameters = next((name, parameters) for name, parameters in before.items() if len(parameters) > 1)
    after = {**present(), name: parameters[:-1]}
    assert broken(before, after) == [f"{name}({parameters[-1]})"]
