"""`simt.stack_slots`: which private array an address lies in, and how far behind its start."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.kernel_ir.kernels import kernel
from triptych.kernel_ir.analysis.addresses import is_private, private_place
from triptych.kernel_ir.dialects.kernel_operations import producer, walk

ARRAY = """
%eight = arith.constant 8 : i32
%array = llvm.alloca %eight x f32 : (i32) -> !llvm.ptr
"""


def last(text: str) -> tuple[Any, Any]:
    """The last operation that a kernel computes something with, and the module that holds it."""
    function, module = kernel(ARRAY + text)
    return [found for found in walk(function) if found.results][-1], module


def at(base: str, index: str, name: str = "%a", kind: str = "f32") -> str:
    types = "(!llvm.ptr, i32)" if index.startswith("%") else "(!llvm.ptr)"
    return f"{name} = llvm.getelementptr {base}[{index}] : {types} -> !llvm.ptr, {kind}\n"


@pytest.mark.parametrize(
    ("text", "offset", "left"),
    [
        ("", 0, 32),
        (at("%array", "3"), 12, 20),
        (at("%array", "3", kind="i8"), 3, 29),
        (at("%array", "-1"), -4, 36),
        (at("%array", "2") + at("%a", "1", "%c", "f64"), 16, 16),
        (at("%array", "2") + at("%a", "1", "%c", "i16"), 10, 22),
    ],
)
def test_known_offsets(text: str, offset: int, left: int) -> None:
    operation, _module = last(text)
    place = private_place(operation.results[0])
    assert place is not None
    assert (place.offset, place.bytes_left, place.element_bytes) == (offset, left, 4)
    assert producer(place.array).name == "llvm.alloca"
    assert is_private(operation)


@pytest.mark.parametrize("text", [at("%array", "%n"), at("%array", "%n") + at("%a", "1", "%c")])
def test_offsets_of_the_run(text: str) -> None:
    operation, _module = last(text)
    assert private_place(operation.results[0]) is None
    assert is_private(operation)


@pytest.mark.parametrize(
    "text",
    [
        "%a = llvm.getelementptr %p[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32",
        "%a = llvm.mlir.zero : !llvm.ptr",
        "%z = llvm.mlir.zero : !llvm.ptr\n" + at("%z", "1"),
    ],
)
def test_other_memory(text: str) -> None:
    operation, _module = last(text)
    assert private_place(operation.results[0]) is None
    assert not is_private(operation)


def test_several_indices() -> None:
    operation, _module = last("%a = llvm.getelementptr %array[0, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.array<4 x f32>")
    assert private_place(operation.results[0]) is None
    assert is_private(operation)


def test_no_operation_is_not_private() -> None:
    assert not is_private(None)
