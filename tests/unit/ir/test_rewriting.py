"""Lowering by rules: every operation of a name is replaced, at its place, and keeps its location."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triptych.ir import bindings
from triptych.ir.location import place_of
from triptych.ir.modules import operations_named
from triptych.ir.passes import Replacement, replace_each, replacing, verify
from triptych.kernel_ir.dialects.kernel_operations import enclosing

PROGRAM = """
func.func @f(%a: i32, %c: i1) -> i32 {
  %0 = scf.if %c -> (i32) {
    %1 = arith.muli %a, %a : i32 loc("kernel.py":7:3)
    scf.yield %1 : i32
  } else {
    scf.yield %a : i32
  }
  %2 = arith.muli %0, %a : i32
  return %2 : i32
}
"""


def parsed() -> Any:
    with bindings.mlir().Context():
        return bindings.mlir().Module.parse(PROGRAM)


def add_one(op: Replacement) -> Sequence[Any]:
    total = op.value("arith.addi", op.operands, "i32")
    return [op.value("arith.addi", (total, op.integer("i32", 1)), "i32")]


def test_every_operation_of_the_name_is_replaced() -> None:
    module = parsed()
    replacing({"arith.muli": add_one})(module)
    verify(module)
    assert not operations_named(module, "arith.muli")
    assert len(operations_named(module, "arith.addi")) == 4
    assert len(operations_named(operations_named(module, "scf.if")[0], "arith.addi")) == 2


def test_what_is_built_keeps_the_place_of_what_it_replaces() -> None:
    module = parsed()
    replacing({"arith.muli": add_one})(module)
    (place,) = {place_of(op) for op in operations_named(operations_named(module, "scf.if")[0], "arith.addi")}
    assert place is not None
    assert (place.file, place.line, place.column) == ("kernel.py", 7, 2)


def test_rules_run_in_order() -> None:
    module = parsed()
    back = lambda op: [op.value("arith.muli", op.operands, "i32")]  # noqa: E731
    replacing({"arith.muli": add_one, "arith.addi": back})(module)
    assert not operations_named(module, "arith.addi")
    assert len(operations_named(module, "arith.muli")) == 4


def test_an_operation_without_results_may_vanish() -> None:
    module = parsed()
    with module.context:
        text = 'func.func @g(%x: i1) { cf.assert %x, "no" return }'
        module = bindings.mlir().Module.parse(text)
    replacing({"cf.assert": lambda op: ()})(module)
    verify(module)
    assert not operations_named(module, "cf.assert")


def test_a_rule_may_leave_an_operation_as_it_is() -> None:
    module = parsed()
    replacing({"arith.muli": lambda op: add_one(op) if enclosing(op.operation).name == "scf.if" else None})(module)
    verify(module)
    assert len(operations_named(module, "arith.muli")) == 1
    assert len(operations_named(module, "arith.addi")) == 2


def test_stores_of_elements_instead_of_a_vector() -> None:
    with bindings.mlir().Context():
        text = "func.func @h(%v: vector<2xf32>, %p: !llvm.ptr) { llvm.store %v, %p : vector<2xf32>, !llvm.ptr return }"
        module = bindings.mlir().Module.parse(text)

    def by_elements(op: Replacement) -> Sequence[Any]:
        vector, pointer = op.operands
        for i in range(2):
            op.effect("llvm.store", (op.element(vector, i, "f32"), pointer), {"ordering": op.attribute("0 : i64")})
        return ()

    replace_each(operations_named(module, "llvm.store"), by_elements)
    verify(module)
    assert [str(store.operands[0].type) for store in operations_named(module, "llvm.store")] == ["f32", "f32"]
