"""PTX types: how many bits each has, and which MLIR type computes with it."""

from __future__ import annotations

FLOATS = {"f16": "f16", "bf16": "bf16", "f32": "f32", "f64": "f64"}
PAIRS = {"f16x2": "f16", "bf16x2": "bf16", "f32x2": "f32"}
"""Two floats side by side; the first is in the low bits."""
WIDTHS = {
    "pred": 1,
    **{f"{letter}{width}": width for letter in "bus" for width in (8, 16, 32, 64, 128)},
    "f16": 16,
    "bf16": 16,
    "f32": 32,
    "f64": 64,
    "f16x2": 32,
    "bf16x2": 32,
    "f32x2": 64,
}
ROUNDINGS = frozenset({"rn", "rz", "rm", "rp"})


def bits_of(kind: str) -> str:
    """The MLIR integer that holds a register of a kind."""
    return f"i{WIDTHS[kind]}"


def mlir_of(kind: str) -> str:
    """The MLIR type that instructions of a kind compute with: floats by themselves, all else as bits."""
    return FLOATS.get(kind, bits_of(kind))


def is_signed(kind: str) -> bool:
    return kind[0] == "s"


def type_in(marks: tuple[str, ...]) -> str:
    """The last word of an opcode that is a type; none is empty."""
    return next((mark for mark in reversed(marks) if mark in WIDTHS), "")
