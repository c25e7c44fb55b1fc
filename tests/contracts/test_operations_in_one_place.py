"""An operation is declared once, and few files have to name it: whoever needs a fact of it asks its definition."""

from __future__ import annotations

import ast
from functools import cache

import pytest

from tests.contracts.tree import PACKAGE
from triptych.kernel_ir.dialects.kernel_operations import DEFINITIONS

MOST = 6
"""The definition, the function of the language, the CPU's emitter, the PTX, inline PTX or a second pass, and the table
of AMD's chips."""
OTHER_TARGETS = 2
"""OpenCL and AMD each have a rule for what every machine has."""
FILES = {
    "simt.vote": MOST + OTHER_TARGETS,
    "simt.mbarrier_arrive": MOST,
    "tile.wgmma": MOST,
    "tile.tma_load": MOST,
}
"""Operations by the number of files that may name them."""


@cache
def names() -> dict[str, set[str]]:
    """Every file of the package: the names, attributes and whole strings in its code; sentences are not looked at."""
    found = {}
    for file in PACKAGE.rglob("*.py"):
        here = set()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case (
                    ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name) | ast.Constant(value=str(name))
                ):
                    here.add(name)
        found[file.relative_to(PACKAGE).as_posix()] = here
    return found


@pytest.mark.parametrize("operation", FILES)
def test_few_files_name_an_operation(operation: str) -> None:
    """By its constant or by its text."""
    assert operation in DEFINITIONS
    constant = operation.partition(".")[2].upper()
    naming = sorted(file for file, here in names().items() if here & {constant, operation})
    assert "kernel_ir/dialects/" + operation.partition(".")[0] + ".py" in naming
    assert len(naming) <= FILES[operation], naming


def test_only_the_dialects_write_names_of_operations() -> None:
    """Everywhere else the constant stands, so that a name changes in one place."""
    written = {file: sorted(here & set(DEFINITIONS)) for file, here in names().items() if here & set(DEFINITIONS)}
    assert not written
