"""`simt.addresses`: the base of an address, its known bytes, and what a run adds."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.kernel_ir.kernels import kernel
from triptych.kernel_ir.analysis.addresses import Address, AddressForms, base, step, steps
from triptych.kernel_ir.dialects.kernel_operations import defining_op, producer, walk


def at(name: str, start: str, index: str, kind: str = "f32", of: str = "i64") -> str:
    types = f"(!llvm.ptr<1>, {of})" if index.startswith("%") else "(!llvm.ptr<1>)"
    return f"{name} = llvm.getelementptr {start}[{index}] : {types} -> !llvm.ptr<1>, {kind}\n"


WIDE = "%e = arith.extsi %t : i32 to i64\n"


def pointers(text: str) -> tuple[list[Any], Any]:
    """The addresses that a kernel makes, in program order, and the module that holds them."""
    function, module = kernel(text)
    return [found.results[0] for found in walk(function) if found.name == "llvm.getelementptr"], module


def addresses(text: str) -> list[Address]:
    found, _module = pointers(text)
    forms = AddressForms()
    return [forms.address(pointer) for pointer in found]


def distance(text: str) -> int | None:
    """Between the first and the last address, if it is known."""
    first, *_, last = addresses(text)
    return last.known - first.known if (first.memory, first.terms) == (last.memory, last.terms) else None


@pytest.mark.parametrize(
    ("text", "known"),
    [
        (at("%a", "%p", "0") + at("%b2", "%p", "3"), 12),
        (at("%a", "%p", "0") + at("%b2", "%p", "-2", "f64"), -16),
        (at("%a", "%p", "0") + at("%b2", "%p", "5", "vector<2xi16>"), 20),
        (at("%a", "%p", "1") + at("%b2", "%a", "1", "i8"), 1),
        (WIDE + at("%a", "%p", "%e") + at("%b2", "%a", "2"), 8),
        (WIDE + at("%a", "%p", "%e") + at("%b2", "%p", "2") + at("%c", "%b2", "%e"), 8),
        (WIDE + at("%a", "%p", "%e") + at("%b2", "%p", "%e", "i8"), None),
        (WIDE + at("%a", "%p", "%e") + at("%b2", "%p", "0"), None),
    ],
)
def test_distances(text: str, known: int | None) -> None:
    assert distance(text) == known


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("%x = arith.addi %t, %c16 : i32 %y = arith.addi %t, %c1 : i32", -60),
        ("%x = arith.subi %t, %c16 : i32 %y = arith.subi %t, %c1 : i32", 60),
        ("%x = arith.muli %t, %c16 : i32 %s = arith.addi %t, %c1 : i32 %y = arith.muli %c16, %s : i32", 64),
        ("%x = arith.addi %t, %u : i32 %y = arith.addi %u, %t : i32", 0),
        ("%x = arith.addi %t, %t : i32 %two = arith.constant 2 : i32 %y = arith.muli %t, %two : i32", 0),
        ("%x = arith.subi %t, %t : i32 %y = arith.constant 1 : i32", 4),
        ("%x = arith.muli %t, %u : i32 %y = arith.muli %t, %u : i32", 0),
        ("%x = arith.muli %t, %u : i32 %y = arith.muli %t, %n : i32", None),
        ("%x = arith.divui %t, %c16 : i32 %y = arith.divui %t, %c16 : i32", 0),
        ("%x = arith.divui %t, %c16 : i32 %y = arith.divui %t, %c32 : i32", None),
        ("%x = llvm.load %p : !llvm.ptr<1> -> i32 %y = llvm.load %p : !llvm.ptr<1> -> i32", None),
    ],
)
def test_sums(text: str, known: int | None) -> None:
    """Values that are computed alike are equal; two loads may read different numbers."""
    extended = "%ex = arith.extsi %x : i32 to i64\n%ey = arith.extsi %y : i32 to i64\n"
    assert distance(text + "\n" + extended + at("%a", "%p", "%ex") + at("%b2", "%p", "%ey")) == known


@pytest.mark.parametrize(
    ("extension", "narrow", "known"),
    [("extsi", "i32", 4), ("index_cast", "i32", 4), ("extui", "i32", None), ("extsi", "i16", None)],
)
def test_extended_sums(extension: str, narrow: str, known: int | None) -> None:
    """Only signed numbers of 32 bits are taken not to wrap around."""
    index = "index" if extension == "index_cast" else "i64"
    made = "%x = arith.addi %t, %c0 : i32\n%y = arith.addi %t, %c1 : i32\n"
    if narrow == "i16":
        made = (
            "%h = arith.trunci %t : i32 to i16\n%one = arith.constant 1 : i16\n"
            "%x = arith.addi %h, %h : i16\n%z = arith.addi %h, %one : i16\n%y = arith.addi %z, %h : i16\n"
        )
    extended = "".join(f"%e{v} = arith.{extension} %{v} : {narrow} to {index}\n" for v in "xy")
    if index == "index":
        extended += "".join(f"%i{v} = arith.index_cast %e{v} : index to i64\n" for v in "xy")
        assert distance(made + extended + at("%a", "%p", "%ix") + at("%b2", "%p", "%iy")) is None
        return
    assert distance(made + extended + at("%a", "%p", "%ex") + at("%b2", "%p", "%ey")) == known


def test_steps_and_where_they_begin() -> None:
    (first, second), _module = pointers(WIDE + at("%a", "%p", "%e") + at("%b2", "%a", "3", "i16"))
    start, taken = steps(second)
    assert start == base(second) == base(first)
    assert [each.size for each in taken] == [2, 4]
    assert taken[0].index == 3
    assert not isinstance(taken[1].index, int)
    assert producer(taken[1].index).name == "arith.extsi"


def test_parts_of_structs_and_arrays_are_no_steps() -> None:
    text = """
    %a = llvm.getelementptr %p[0, 1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, !llvm.struct<(i32, i64)>
    %b2 = llvm.getelementptr %a[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32
    """
    (field, element), _module = pointers(text)
    start, (taken,) = steps(element)
    assert (start, taken.size) == (field, 4)
    assert base(element) == base(field) != field
    assert step(defining_op(field)) is None
    assert step(None) is None


def test_long_sums_stay_as_they_are() -> None:
    """They are opened so far that time stays in bounds, and are terms behind that."""
    chain = "%s0 = arith.addi %t, %c1 : i32\n"
    chain += "".join(f"%s{i + 1} = arith.addi %s{i}, %c1 : i32\n" for i in range(400))
    (address,) = addresses(chain + "%x = arith.extsi %s400 : i32 to i64\n" + at("%a", "%p", "%x"))
    assert 0 < address.known < 4 * 401
    assert len(address.terms) == 2
