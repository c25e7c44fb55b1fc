"""Every pass of all targets and every file of analyses is named in a test of its own kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest

from tests.contracts.tree import PACKAGE, ROOT
from triptych.stages import PassSpec
from triptych.targets.cpu.pipeline import PIPELINE
from triptych.targets.nvptx.description.architectures import ARCHITECTURES
from triptych.targets.nvptx.pipeline import before_split, pipeline
from triptych.targets.spirv import pipeline as spirv

TESTS = (ROOT / "tests" / "passes", ROOT / "tests" / "unit")
ROOMS = ("kernel_ir/analysis", "kernel_ir/transforms", "targets/*/passes", "targets/*/analysis")
"""Where passes and analyses are."""


def passes() -> dict[str, PassSpec]:
    """Those of ours in any pass list, by name; upstream's have no function here."""
    specs = [*PIPELINE, *spirv.BEFORE_SPLIT, *spirv.PIPELINE]
    for architecture in ARCHITECTURES.values():
        specs += [*before_split(architecture), *pipeline(architecture)]
    return {spec.name: spec for spec in specs if spec.run is not None}


def modules() -> Iterator[str]:
    """The files of the rooms, as they are imported."""
    for room in ROOMS:
        for file in sorted(PACKAGE.glob(f"{room}/*.py")):
            if file.name != "__init__.py":
                yield ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts)


@cache
def texts() -> str:
    """All tests of passes and of units, as one text."""
    return "\n".join(file.read_text() for folder in TESTS for file in sorted(folder.rglob("test_*.py")))


@pytest.mark.parametrize("name", sorted(passes()))
def test_a_pass_is_named(name: str) -> None:
    assert f"`{name}`" in texts(), f"no test under tests/passes or tests/unit begins by naming the pass `{name}`"


@pytest.mark.parametrize("module", list(modules()))
def test_a_module_is_named(module: str) -> None:
    """A test imports it, or says that it is about it."""
    package, _, name = module.rpartition(".")
    imported = rf"from {re.escape(module)} import |from {re.escape(package)} import [^\n]*\b{name}\b|`{name}`"
    assert re.search(imported, texts()), f"no test under tests/passes or tests/unit imports or names {module}"


def test_the_lists_are_read() -> None:
    """Names of a few passes and files: an empty list would pass everything above."""
    assert {"merge-traps", "lower-assert", "hint-loops", "expand-narrow-floats"} <= set(passes())
    assert {"triptych.kernel_ir.analysis.lanes", "triptych.targets.nvptx.analysis.extents"} <= set(modules())
    assert not any("(" in name for name in passes())
