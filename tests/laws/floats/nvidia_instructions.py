"""NVIDIA's conversion instructions done by formulas, as the PTX manual describes them: what they compute runs here.

They convert a pair of numbers, the first operand to the upper half. All saturate: beyond the largest number is the
largest number, NaN stays NaN where there is one and is the largest number else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from triptych.ir.builder import Builder
from triptych.ir.expressions import Expression, gather
from triptych.kernel_ir.transforms.narrow_floats.rounding import narrow, widen
from triptych.support.float_formats import FLOAT_FORMATS
from triptych.targets.cpu.passes.narrow_floats import CpuFloats
from triptych.targets.nvptx.passes.narrow_floats import NvidiaFloats

FORMATS = {
    "e4m3x2": "f8E4M3FN",
    "e5m2x2": "f8E5M2",
    "e2m3x2": "f6E2M3FN",
    "e3m2x2": "f6E3M2FN",
    "e2m1x2": "f4E2M1FN",
    "ue8m0x2": "f8E8M0FNU",
}
JUNK = 0x1234
"""In the bits that TF32 does not have: nothing says what they are."""


class EmulatedFloats(NvidiaFloats):
    """A GPU whose instructions are formulas of the CPU, which does what else there is to do."""

    def does(self, operation: Any, formats: frozenset[str]) -> bool:
        return CpuFloats().does(operation, formats)

    def instruction(
        self, builder: Builder, name: str, operands: Sequence[Expression], element: str, lanes: int | None = None
    ) -> Expression:
        match name.split("."):
            case ["ff", "to", kind, "rn", *_]:
                return _narrow_pair(FORMATS[kind], *operands)
            case [kind, "to", "f16x2" | "bf16x2", *_]:
                return _widen_pair(FORMATS[kind], operands[0], element)
            case ["f2f16" | "f2bf16", "rn", "satfinite"]:
                return narrow(operands[0], FLOAT_FORMATS[element], saturate=True)
            case ["f2tf32", "rn", *marks]:
                return narrow(operands[0], FLOAT_FORMATS["tf32"], saturate=bool(marks)).bits() | JUNK
        raise NotImplementedError(name)


def _shift(format_: str) -> int:
    """Only the 4-bit ones share a byte."""
    return 4 if format_ == "f4E2M1FN" else 8


def _narrow_pair(format_: str, upper: Expression, lower: Expression) -> Expression:
    form = FLOAT_FORMATS[format_]
    low, high = (narrow(number, form, saturate=True).convert("extui", "i16") for number in (lower, upper))
    return low | (high << _shift(format_))


def _widen_pair(format_: str, word: Expression, half: str) -> Expression:
    shift = _shift(format_)
    parts = [(each & ((1 << shift) - 1)).convert("trunci", "i8") for each in (word, word >> shift)]
    wide = [narrow(widen(part, FLOAT_FORMATS[format_]), FLOAT_FORMATS[half]) for part in parts]
    return gather(wide)
