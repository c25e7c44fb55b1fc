"""`memory_types`: how many bits and elements a load or a store moves."""

from __future__ import annotations

import pytest

from triptych.targets.nvptx.analysis.memory_types import bits_of, elements_of


@pytest.mark.parametrize(
    ("kind", "count", "element", "bits"),
    [
        ("i8", 0, "i8", 8),
        ("i16", 0, "i16", 16),
        ("f16", 0, "f16", 16),
        ("bf16", 0, "bf16", 16),
        ("i32", 0, "i32", 32),
        ("f32", 0, "f32", 32),
        ("i64", 0, "i64", 64),
        ("f64", 0, "f64", 64),
        ("vector<1xi8>", 1, "i8", 8),
        ("vector<4xf32>", 4, "f32", 128),
        ("vector<16xbf16>", 16, "bf16", 256),
        ("!llvm.ptr", 0, "!llvm.ptr", 0),
        ("i128", 0, "i128", 0),
        ("vector<2x2xf32>", 2, "2xf32", 0),
    ],
)
def test_kinds(kind: str, count: int, element: str, bits: int) -> None:
    assert elements_of(kind) == (count, element)
    assert bits_of(kind) == bits
