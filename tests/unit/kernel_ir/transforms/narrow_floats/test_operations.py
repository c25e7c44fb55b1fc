"""`simt.operations`: what is read off an operation of a kernel."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.kernel_ir.kernels import kernel
from triptych.kernel_ir.dialects import kernel_operations as tested
from triptych.kernel_ir.dialects.opdef import Traits


def named(text: str, name: str) -> tuple[Any, Any]:
    """The last operation of a name in a kernel, and the module that holds it."""
    function, module = kernel(text)
    return [found for found in tested.walk(function) if found.name == name][-1], module


@pytest.mark.parametrize(
    ("count", "kind", "alignment", "size"),
    [(3, "f32", "", 12), (3, "f32", "{alignment = 16 : i64}", 16), (4, "f32", "{alignment = 16 : i64}", 16)],
)
def test_sizes_of_arrays(count: int, kind: str, alignment: str, size: int) -> None:
    text = f"%c = arith.constant {count} : i32\n%a = llvm.alloca %c x {kind} {alignment} : (i32) -> !llvm.ptr"
    array, _module = named(text, "llvm.alloca")
    assert tested.array_size(array) == size


@pytest.mark.parametrize(
    ("constant", "value"),
    [
        ("true", 1),
        ("false", 0),
        ("-7 : i32", -7),
        ("9 : index", 9),
        ("5 : i64", 5),
        ("3 : i128", None),
        ("1.0 : f32", None),
        ("dense<1> : vector<4xi32>", None),
    ],
)
def test_integer_constants(constant: str, value: int | None) -> None:
    made, _module = named(f"%c = arith.constant {constant}", "arith.constant")
    assert tested.integer_constant(made) == value
    assert tested.constant_of(made.results[0]) == value


def test_constants_are_made_by_constants() -> None:
    made, _module = named("%s = arith.addi %c1, %c1 : i32", "arith.addi")
    assert tested.constant_of(made.results[0]) is None
    assert tested.constant_of(made.operands[0]) == 1
    function, _other = kernel("")
    assert tested.constant_of(tested.body(function).arguments[1]) is None


@pytest.mark.parametrize(("axis", "number"), [("x", 0), ("y", 1), ("z", 2)])
def test_dimensions(axis: str, number: int) -> None:
    made, _module = named(f"%i = gpu.block_dim {axis}", "gpu.block_dim")
    assert tested.dimension(made) == number


def test_indices_of_addresses() -> None:
    address = "%a = llvm.getelementptr %p[{}] : (!llvm.ptr<1>{}) -> !llvm.ptr<1>, {}"
    several, _first = named(address.format("3, %n", ", i32", "!llvm.array<4 x f32>"), "llvm.getelementptr")
    number, _second = named(address.format("3", "", "f32"), "llvm.getelementptr")
    computed, _third = named(address.format("%n", ", i32", "f32"), "llvm.getelementptr")
    assert tested.only_index(several) is None
    assert tested.only_index(number) == 3
    assert tested.only_index(computed) == computed.operands[1]


@pytest.mark.parametrize(
    ("text", "ordered"),
    [
        ("%w = llvm.load %p : !llvm.ptr<1> -> i32", False),
        ("%w = llvm.load %p atomic monotonic {alignment = 4 : i64} : !llvm.ptr<1> -> i32", True),
    ],
)
def test_ordered_accesses(text: str, ordered: bool) -> None:
    made, _module = named(text, "llvm.load")
    assert tested.is_ordered(made) is ordered
    assert tested.writes(made) is ordered
    other, _other = named("%s = arith.addi %c1, %c1 : i32", "arith.addi")
    assert not tested.is_ordered(other)


INSIDE = "scf.for %i = %c0 to %n step %c1 : i32 { scf.for %j = %c0 to %n step %c1 : i32 { BODY } }"
STORE = "llvm.store %n, %p : i32, !llvm.ptr<1>"


def test_what_is_inside_counts() -> None:
    function, _module = kernel(INSIDE.replace("BODY", STORE))
    loop = next(found for found in tested.walk(function) if found.name == "scf.for")
    assert tested.writes(loop)
    assert tested.contains(loop, frozenset({"llvm.store"}))
    assert tested.contains(loop, frozenset({"scf.for"}))
    assert not tested.contains(loop, frozenset({"llvm.load", "gpu.func"}))
    assert tested.has(loop, lambda traits: traits.writes)
    assert tested.has(loop, lambda traits: traits.encloses)
    assert not tested.has(loop, Traits.is_barrier)
    assert [found.name for found in tested.inner(loop)] == ["scf.for", "scf.yield"]
    assert [found.name for found in tested.walk(loop)] == ["scf.for", "llvm.store", "scf.yield", "scf.yield"]
    assert len(tested.all_operands(loop)) == 3 + 3 + 2
    assert not tested.is_pure(loop)


def test_reading_writes_nothing() -> None:
    function, _module = kernel(INSIDE.replace("BODY", "%w = llvm.load %p : !llvm.ptr<1> -> i32"))
    loop = next(found for found in tested.walk(function) if found.name == "scf.for")
    assert not tested.writes(loop)


def test_an_empty_region_has_no_block() -> None:
    made, _module = named("%c = arith.cmpi eq, %n, %n : i32\nscf.if %c { }", "scf.if")
    assert tested.has_body(made, 0)
    assert not tested.has_body(made, 1)
    assert [found.name for found in tested.operations(tested.body(made))] == ["scf.yield"]


def test_who_computes_a_value() -> None:
    function, _module = kernel("%s = arith.addi %c1, %n : i32")
    addition = next(found for found in tested.walk(function) if found.name == "arith.addi")
    assert tested.defining_op(addition.results[0]) == addition
    assert tested.defining_op(addition.operands[1]) is None
    assert tested.is_pure(addition)
