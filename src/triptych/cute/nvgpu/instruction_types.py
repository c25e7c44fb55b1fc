"""Element types in the words of the instruction set, which entries of `triptych.kernel_ir.dialects` are named with."""

from __future__ import annotations

from triptych.metastage.values.scalars import (
    BFloat16,
    Float8E4M3FN,
    Float8E5M2,
    Float16,
    Float32,
    Int8,
    Int32,
    Numeric,
    TFloat32,
    Uint8,
)

Shape3 = tuple[int, int, int]

WORDS: dict[type[Numeric], str] = {
    Float16: "f16",
    BFloat16: "bf16",
    TFloat32: "tf32",
    Float8E4M3FN: "e4m3",
    Float8E5M2: "e5m2",
    Int8: "s8",
    Uint8: "u8",
    Float32: "f32",
    Int32: "s32",
}
TYPES = {word: dtype for dtype, word in WORDS.items()}
