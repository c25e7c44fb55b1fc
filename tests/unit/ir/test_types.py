"""What `triptych.ir.types` says of a type, for each kind of type that kernels have."""

from __future__ import annotations

import pytest

from triptych.ir import types
from triptych.ir.builder import Builder
from triptych.ir.handles import Type

KINDS = {
    "is_integer": ("i1", "i32", "i128"),
    "is_index": ("index",),
    "is_float": ("f64", "bf16", "f8E4M3FN", "f4E2M1FN"),
    "is_vector": ("vector<4xf32>", "vector<2x!llvm.ptr<1>>"),
    "is_memref": ("memref<4xf32, 3>",),
    "is_pointer": ("!llvm.ptr", "!llvm.ptr<3>"),
    "is_array": ("!llvm.array<3 x i8>",),
    "is_struct": ("!llvm.struct<(i32, f32)>",),
}


def _type(text: str) -> Type:
    return Builder().type(text)


@pytest.mark.parametrize("predicate", KINDS)
def test_a_type_is_of_one_kind(predicate: str) -> None:
    for kind, texts in KINDS.items():
        for text in texts:
            assert bool(getattr(types, predicate)(_type(text))) == (kind == predicate), text


def test_an_integer_may_be_asked_for_its_width() -> None:
    assert types.is_integer(_type("i64"), 64)
    assert not types.is_integer(_type("i64"), 32)
    assert not types.is_integer(_type("f64"), 64)
    assert types.is_float(_type("f64"), 64)
    assert not types.is_float(_type("f32"), 64)
    assert not types.is_float(_type("i64"), 64)


def test_a_vector_of_two_dimensions_has_a_size_and_no_lanes() -> None:
    assert types.count_and_element(_type("vector<2x3xf32>")) is None
    assert types.byte_size(_type("vector<2x3xf32>")) == 24


@pytest.mark.parametrize(
    ("text", "element", "lanes"),
    [("vector<4xf32>", "f32", 4), ("vector<2x!llvm.ptr<1>>", "!llvm.ptr<1>", 2), ("i8", "i8", None)],
)
def test_elements_and_lanes(text: str, element: str, lanes: int | None) -> None:
    assert types.element_type(_type(text)) == _type(element)
    assert types.lanes(_type(text)) == lanes


@pytest.mark.parametrize(
    ("text", "integer", "bits", "size"),
    [
        ("i1", 1, 1, 1),
        ("i8", 8, 8, 1),
        ("i128", 128, 128, 16),
        ("bf16", None, 16, 2),
        ("f4E2M1FN", None, 4, 1),
        ("vector<4xi16>", None, 64, 8),
        ("vector<4x!llvm.ptr<3>>", None, None, 32),
        ("!llvm.ptr", None, None, 8),
        ("!llvm.array<3 x vector<2xf64>>", None, None, 48),
    ],
)
def test_widths(text: str, integer: int | None, bits: int | None, size: int) -> None:
    assert types.int_width(_type(text)) == integer
    assert types.bit_width(_type(text)) == bits
    assert types.byte_size(_type(text)) == size


def test_an_index_has_the_width_of_an_address() -> None:
    assert types.int_width(_type("index")) == 64
    assert types.bit_width(_type("index")) is None


@pytest.mark.parametrize(("text", "space"), [("!llvm.ptr", 0), ("!llvm.ptr<3>", 3), ("i64", None)])
def test_memory_space(text: str, space: int | None) -> None:
    assert types.memory_space(_type(text)) == space


def test_text_is_what_mlir_writes() -> None:
    assert types.type_text(_type("vector<4xf32>")) == "vector<4xf32>"


@pytest.mark.parametrize(
    ("kind", "size"),
    [
        ("i1", 1),
        ("i8", 1),
        ("i16", 2),
        ("bf16", 2),
        ("f16", 2),
        ("f32", 4),
        ("i128", 16),
        ("!llvm.ptr", 8),
        ("!llvm.ptr<3>", 8),
        ("vector<4xf32>", 16),
        ("vector<3xbf16>", 6),
        ("!llvm.array<5 x i16>", 10),
        ("!llvm.array<2 x vector<2xf32>>", 16),
    ],
)
def test_sizes_of_elements(kind: str, size: int) -> None:
    assert types.byte_size(_type(kind)) == size


@pytest.mark.parametrize(
    ("kind", "bits"),
    [
        ("i8", 8),
        ("i16", 16),
        ("f16", 16),
        ("bf16", 16),
        ("i32", 32),
        ("f32", 32),
        ("i64", 64),
        ("f64", 64),
        ("vector<1xi8>", 8),
        ("vector<4xf32>", 128),
        ("vector<16xbf16>", 256),
        ("!llvm.ptr", 0),
        ("i1", 0),
        ("i128", 0),
        ("index", 0),
        ("f8E5M2", 0),
        ("vector<2x2xf32>", 0),
    ],
)
def test_bits_that_a_load_or_a_store_moves(kind: str, bits: int) -> None:
    assert types.bits_of(Builder().type(kind)) == bits
