"""Operations are created from tuples: what else is a sequence lets go of its elements while the bindings read them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from triptych.ir import bindings
from triptych.ir.bindings import context
from triptych.ir.builder import Builder

MODULE = """
func.func @f(%a: i32, %b: i32) -> (i32, i32) {
  return %a, %b : i32, i32
}
"""


def test_operands_of_an_operation_are_held_while_another_is_made_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    ir = bindings.mlir()
    module = ir.Module.parse(MODULE, context())
    returning = module.body.operations[0].regions[0].blocks[0].operations[0].operation
    builder, given = Builder(module.context), list[dict[str, Any]]()

    def create(_: str, **parts: Any) -> SimpleNamespace:
        given.append(parts)
        return SimpleNamespace(result=None)

    monkeypatch.setattr(builder, "_create", create)
    kinds = [operand.type for operand in returning.operands]
    builder.operation("test.a", returning.operands, kinds, location=returning.location)
    builder.value("test.b", returning.operands, kinds[0], location=returning.location)
    assert [type(parts[name]) for parts in given for name in ("operands", "results")] == [tuple] * 4
    assert [list(parts["operands"]) for parts in given] == [list(returning.operands)] * 2
