"""Release builds have the machine code that they would have without any checkers, whatever was compiled before them."""

from __future__ import annotations

from typing import Any

import pytest

import triptych as tt
from tests.unit.targets.nvptx.programs import EXAMPLES
from triptych.support.config import override


def object_of(name: str, debug: str) -> Any:
    """The object file of an example, compiled now."""
    function, arguments = EXAMPLES[name]()
    with override(debug=debug, cache=False):
        return tt.compile(function, *arguments, target="cpu")._loaded.compiled.artifact


@pytest.mark.parametrize("name", ["softmax", "gemm, tiled"])
def test_debug_builds_leave_release_builds_alone(name: str) -> None:
    before = object_of(name, "")
    checked = {words: object_of(name, words) for words in ("bounds", "races,init")}
    assert object_of(name, "") == before
    assert all(made != before for made in checked.values())
