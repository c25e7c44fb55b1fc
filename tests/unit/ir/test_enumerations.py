"""Words of enumerations, as MLIR's attributes carry them."""

from __future__ import annotations

import pytest

from triptych.ir import bindings
from triptych.ir.builder import Builder
from triptych.ir.handles import Module
from triptych.ir.modules import operations_named
from triptych.ir.types import may_approximate, word_of


@pytest.mark.parametrize(
    ("text", "word"), [("#gpu<dim x>", "x"), ("#vector.kind<maxnumf>", "maxnumf"), ("#llvm.fastmath<none>", "none")]
)
def test_the_word_of_an_attribute(text: str, word: str) -> None:
    assert word_of(Builder().attribute(text)) == word


@pytest.mark.parametrize(
    ("flags", "allowed"),
    [("", False), ("fastmath<fast>", True), ("fastmath<nnan,afn>", True), ("fastmath<nnan>", False)],
)
def test_approximations_are_allowed_by_flags(flags: str, allowed: bool) -> None:
    text = f"func.func @f(%x: f32) -> f32 {{ %y = math.exp %x {flags} : f32\n return %y : f32 }}"
    module: Module = bindings.mlir().Module.parse(text, context=Builder().context)
    (operation,) = operations_named(module, "math.exp")
    assert may_approximate(operation) is allowed
