"""`patterns`: terms that stand for what a value is computed from; `kernels`: the functions of a device."""

from __future__ import annotations

from typing import Any

import pytest

from tests.passes.running import kernel as program
from tests.passes.running import lowered_kernel, parsed
from tests.unit.kernel_ir.kernels import kernel
from triptych.ir.modules import kernels
from triptych.kernel_ir.dialects.kernel_operations import walk
from triptych.targets.nvptx.analysis.patterns import Term, match


def last(text: str) -> tuple[Any, Any]:
    function, module = kernel(text)
    return [found.results[0] for found in walk(function) if found.results][-1], module


ADD = "%x = arith.addi %n, %c1 : i32"


@pytest.mark.parametrize(
    ("text", "term", "names"),
    [
        (ADD, "all", {"all"}),
        (ADD, ("arith.addi", "a", "b"), {"a", "b"}),
        (ADD, ("arith.addi", "a", 1), {"a"}),
        (ADD, ("arith.addi", "a", 2), None),
        (ADD, ("arith.addi", 1, "a"), None),
        (ADD, ("arith.addi", "a", "a"), None),
        ("%x = arith.addi %n, %n : i32", ("arith.addi", "a", "a"), {"a"}),
        (ADD, ("arith.subi", "a", "b"), None),
        (ADD, ("arith.addi", ("arith.addi", "a", "b"), 1), None),
        (
            "%y = arith.addi %n, %n : i32 %x = arith.addi %y, %c1 : i32",
            ("arith.addi", ("arith.addi", "a", "a"), 1),
            {"a"},
        ),
        *(
            (f"%x = arith.cmpi {predicate}, %n, %c0 : i32", (f"arith.cmpi {predicate}", "a", 0), {"a"})
            for predicate in ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
        ),
        ("%x = arith.cmpi slt, %n, %c0 : i32", ("arith.cmpi sle", "a", 0), None),
        ("%x = arith.cmpi slt, %n, %c0 : i32", ("arith.cmpi", "a", 0), None),
        ("%x = gpu.thread_id y", ("gpu.thread_id y",), set()),
        ("%x = gpu.thread_id y", ("gpu.thread_id x",), None),
        ("%x = gpu.block_dim z", ("gpu.block_dim z",), set()),
        ("%x = gpu.lane_id", ("gpu.lane_id",), set()),
    ],
)
def test_terms(text: str, term: Term, names: set[str] | None) -> None:
    value, _module = last(text)
    found = match(value, term)
    assert (None if found is None else set(found)) == names


def test_names_stand_for_values() -> None:
    value, _module = last(ADD)
    found = match(value, ("arith.addi", "a", "b"))
    assert found == {"a": value.owner.operands[0], "b": value.owner.operands[1]}


def test_the_first_term_that_fits() -> None:
    value, _module = last(ADD)
    assert set(match(value, ("arith.subi", "a", "b"), ("arith.addi", "c", "d"), "e") or ()) == {"c", "d"}
    assert match(value) is None


def test_arguments_are_no_operations() -> None:
    value, _module = last(ADD)
    argument = value.owner.operands[0]
    assert match(argument, ("arith.addi", "a", "b")) is None
    assert match(argument, "a") == {"a": argument}
    assert match(argument, 1) is None


def test_kernels_of_a_module() -> None:
    module = parsed(program("", host="func.func @host() { return }"))
    assert [found.name for found in kernels(module)] == ["gpu.func"]
    assert kernels(module, "llvm.func") == []
    lowered = parsed(lowered_kernel("llvm.return"))
    assert [found.name for found in kernels(lowered, "llvm.func")] == ["llvm.func"]
    assert kernels(lowered) == []
