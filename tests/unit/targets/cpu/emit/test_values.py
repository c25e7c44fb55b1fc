"""`values`: an array is kept in words of its smallest access, a vector over the lanes for each."""

from __future__ import annotations

import pytest

from tests.unit.kernel_ir.kernels import kernel
from triptych.ir.types import byte_size, type_text
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
    ("uses", "word"),
    [
        ("", "f32"),
        (load("%a"), "f32"),
        (load("%a", "vector<4xf32>"), "f32"),
        (load("%a", "i32"), "f32"),
        (load("%a", "f64"), "f32"),
        (load("%a", "f16"), "i16"),
        (load("%a", "vector<2xf16>"), "i16"),
        (load("%a", "i8"), "i8"),
        (at("%x", "3") + load("%x"), "f32"),
        (at("%x", "%n") + load("%x"), "f32"),
        (at("%x", "1", "f64") + load("%x"), "f32"),
        (at("%x", "1", "vector<4xf32>") + load("%x"), "f32"),
        (at("%x", "1", "f16") + load("%x"), "i16"),
        (at("%x", "4", "i8") + load("%x"), "f32"),
        (at("%x", "%n", "i8") + load("%x", "i8"), "i8"),
        (at("%x", "0, 1", "!llvm.array<4 x f32>") + load("%x"), None),
        (at("%x", "3") + at("%y", "1", "i8", "%x") + load("%y"), "i8"),
        (at("%x", "3") + load("%x", "i16"), "i16"),
        ("llvm.store %n, %a : i32, !llvm.ptr", "f32"),
        ("%h = arith.trunci %n : i32 to i16\nllvm.store %h, %a : i16, !llvm.ptr", "i16"),
        ("llvm.store %a, %p : !llvm.ptr, !llvm.ptr<1>", None),
        ("%q = llvm.ptrtoint %a : !llvm.ptr to i64", None),
        (
            '"tile.mma"(%a, %a, %a, %a) {instruction = "x", tiles = 0, d = 0, a = 0, b = 0, c = 0} '
            ": (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()",
            "f32",
        ),
        (
            load("%a", "f16")
            + '"tile.mma"(%a, %a, %a, %a) {instruction = "x", tiles = 0, d = 0, a = 0, b = 0, c = 0} '
            + ": (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()",
            None,
        ),
    ],
)
def test_accesses(uses: str, word: str | None) -> None:
    """None: the array has lanes one after the other."""
    function, _module = kernel(ARRAY + uses)
    (array,) = private_arrays(function).values()
    assert (array.by_element, type_text(array.element)) == (word is not None, word or "f32")
    assert (array.count * byte_size(array.element), array.size) == (32, 32)


def test_arrays_by_their_addresses() -> None:
    function, _module = kernel(
        ARRAY + "%b2 = llvm.alloca %eight x i8 : (i32) -> !llvm.ptr\nllvm.store %n, %a : i32, !llvm.ptr"
    )
    found = private_arrays(function)
    assert [(type_text(array.element), array.size) for array in found.values()] == [("f32", 32), ("i8", 8)]
    assert [producer(value).name for value in found] == ["llvm.alloca", "llvm.alloca"]
    ((user, number),) = users(next(iter(found)))
    assert (user.name, number) == ("llvm.store", 1)
