"""The package's face: every public name resolves, lazily and for good."""

from __future__ import annotations

import importlib

import pytest

import triptych


@pytest.mark.parametrize("name", triptych.__all__)
def test_public_name_resolves_to_one_object(name: str) -> None:
    assert getattr(triptych, name) is getattr(triptych, name)


def test_no_submodule_hides_a_public_name() -> None:
    """Importing a submodule sets an attribute of its name on the package: no public name may be spelt like one."""
    for name in triptych.__all__:
        if not name.startswith("_"):
            with pytest.raises(ModuleNotFoundError):
                importlib.import_module(f"triptych.{name}")


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'jitt'"):
        getattr(triptych, "jitt")  # noqa: B009 (the name must stay unknown to the type checker)


def test_dir_lists_the_public_names_and_modules() -> None:
    modules = ("cuda", "cute", "cutlass_dsl", "jax", "layout", "pipeline", "testing", "torch", "utils")
    assert dir(triptych) == sorted((*triptych.__all__, *modules))
