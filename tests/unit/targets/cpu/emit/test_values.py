"""`values`: an array is kept element by element where every access is of whole elements."""

from __future__ import annotations

import pytest

from tests.unit.kernel_ir.kernels import kernel
from triptych.ir.types import type_text
from triptych.kernel_ir.dialects.kernel_operations import producer
from triptych.targets.cpu.emit.values import private_arrays, users

ARRAY = "%eight = arith.constant 8 : i32\n%a = llvm.alloca %eight x f32 {alignment = 16 : i64} : (i32) -> !llvm.ptr\n"
V4, V2 = "vector<4xf32>", "vector<2xf16>"


def at(name: str, index: str, kind: str = "f32", base: str = "%a") -> str:
    types = "(!llvm.ptr, i32)" if "%" in index else "(!llvm.ptr)"
    return f"{name} = llvm.getelementptr {base}[{index}] : {types} -> !llvm.ptr, {kind}\n"


def load(pointer: str, kind: str = "f32") -> str:
    return f"%r = llvm.load {pointer} : !llvm.ptr -> {kind}\n"


@pytest.mark.parametrize(
    ("uses", "by_element"),
    [
        ("", True),
        (load("%a"), True),
        (load("%a", "vector<4xf32>"), True),
        (load("%a", "i32"), True),
        (load("%a", "f64"), True),
        (load("%a", "f16"), False),
        (load("%a", "vector<2xf16>"), False),
        (load("%a", "i8"), False),
        (at("%x", "3") + load("%x"), True),
        (at("%x", "%n") + load("%x"), True),
        (at("%x", "1", "f64") + load("%x"), True),
        (at("%x", "1", "vector<4xf32>") + load("%x"), True),
        (at("%x", "1", "f16") + load("%x"), False),
        (at("%x", "4", "i8") + load("%x"), False),
        (at("%x", "0, 1", "!llvm.array<4 x f32>") + load("%x"), False),
        (at("%x", "3") + at("%y", "1", "i8", "%x") + load("%y"), False),
        (at("%x", "3") + load("%x", "i16"), False),
        ("llvm.store %n, %a : i32, !llvm.ptr", True),
        ("%h = arith.trunci %n : i32 to i16\nllvm.store %h, %a : i16, !llvm.ptr", False),
        ("llvm.store %a, %p : !llvm.ptr, !llvm.ptr<1>", False),
        ("%q = llvm.ptrtoint %a : !llvm.ptr to i64", False),
        (
            '"tile.mma"(%a, %a, %a, %a) {instruction = "x", tiles = 0, d = 0, a = 0, b = 0, c = 0} '
            ": (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()",
            True,
        ),
    ],
)
def test_accesses(uses: str, by_element: bool) -> None:
    function, _module = kernel(ARRAY + uses)
    (array,) = private_arrays(function).values()
    assert (array.by_element, type_text(array.element), array.count, array.size) == (by_element, "f32", 8, 32)


def test_arrays_by_their_addresses() -> None:
    function, _module = kernel(
        ARRAY + "%b2 = llvm.alloca %eight x i8 : (i32) -> !llvm.ptr\nllvm.store %n, %a : i32, !llvm.ptr"
    )
    found = private_arrays(function)
    assert [(type_text(array.element), array.size) for array in found.values()] == [("f32", 32), ("i8", 8)]
    assert [producer(value).name for value in found] == ["llvm.alloca", "llvm.alloca"]
    ((user, number),) = users(next(iter(found)))
    assert (user.name, number) == ("llvm.store", 1)
