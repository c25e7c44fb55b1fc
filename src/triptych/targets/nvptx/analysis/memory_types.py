"""Sizes of what loads and stores of kernels move: elements, and vectors of them."""

from __future__ import annotations

import re

ELEMENT_BITS = {"i8": 8, "f16": 16, "bf16": 16, "i16": 16, "i32": 32, "f32": 32, "i64": 64, "f64": 64}
_VECTOR = re.compile(r"vector<(\d+)x(\w+)>")


def elements_of(kind: str) -> tuple[int, str]:
    """How many elements a vector has, 0 for what is none, and their type."""
    vector = _VECTOR.fullmatch(kind)
    return (int(vector[1]), vector[2]) if vector else (0, kind)


def bits_of(kind: str) -> int:
    """The bits of a number or of a vector; 0 for other types."""
    count, element = elements_of(kind)
    return ELEMENT_BITS.get(element, 0) * (count or 1)
