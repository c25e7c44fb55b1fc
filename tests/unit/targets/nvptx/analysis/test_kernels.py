"""`kernels`: how many bits a load or a store moves."""

from __future__ import annotations

import pytest

from triptych.ir.builder import Builder
from triptych.targets.nvptx.analysis.kernels import bits_of


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
def test_kinds(kind: str, bits: int) -> None:
    assert bits_of(Builder().type(kind)) == bits
