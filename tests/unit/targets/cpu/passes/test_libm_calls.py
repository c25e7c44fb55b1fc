"""Pass `call-libm`: expm1 and log1p keep their digits near zero, in every float type and for every lane."""

from __future__ import annotations

import math

import pytest

from triptych.ir import bindings
from triptych.ir.bindings import context
from triptych.targets.cpu.passes.lower_math import call_libm


def lowered(name: str, kind: str) -> str:
    text = f"func.func @f(%x: {kind}) -> {kind} {{\n  %y = math.{name} %x : {kind}\n  return %y : {kind}\n}}"
    module = bindings.mlir().Module.parse(text, context=context())
    call_libm(module)
    assert module.operation.verify()
    return str(module)


@pytest.mark.parametrize(("kind", "function"), [("f32", "expm1f"), ("f64", "expm1"), ("f16", "expm1f")])
def test_a_number_is_one_call(kind: str, function: str) -> None:
    text = lowered("expm1", kind)
    assert text.count(f"call @{function}(") == 1
    assert "math." not in text


def test_narrow_floats_are_computed_in_f32() -> None:
    text = lowered("log1p", "bf16")
    assert "arith.extf" in text
    assert "arith.truncf" in text


def test_a_vector_is_a_call_for_each_lane() -> None:
    text = lowered("log1p", "vector<4xf64>")
    assert text.count("call @log1p(") == 4
    assert "math." not in text


def test_other_functions_are_left_alone() -> None:
    assert "math.exp " in lowered("exp", "f32")


def test_a_module_without_them_gets_no_declarations() -> None:
    assert "log1p" not in lowered("exp", "f32")
    assert math.log1p(1e-9) != math.log(1 + 1e-9)  # the reason for the pass
