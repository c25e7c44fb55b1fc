"""Target hooks for narrow floats: which operations a machine does itself, and how it converts.

The formulas here need nothing but integers, Float32 and Float64. A target with instructions overrides what they do
better, and must get the same numbers; which NaN a NaN becomes is its own affair.
"""

from __future__ import annotations

from triptych.ir.expressions import Expression
from triptych.ir.handles import Operation
from triptych.kernel_ir.transforms.narrow_floats.rounding import narrow, round_to_odd, widen
from triptych.support.float_formats import FloatFormat


class FloatMachine:
    """A machine that computes in 32 bits and more, and converts by formulas."""

    name = "this machine"
    """As errors call it."""

    def does(self, operation: Operation, formats: frozenset[str]) -> bool:
        """Whether an operation on 16-bit floats, and on no narrower ones, can stay as it is."""
        del operation, formats
        return False

    def widen(self, value: Expression, form: FloatFormat, wide: str = "f32") -> Expression:
        """A stored narrow float as the same number in `wide`, Float32 or Float64."""
        return widen(value, form).convert("extf", wide)

    def narrow(self, value: Expression, form: FloatFormat, *, saturate: bool = False) -> Expression:
        """A Float32 or Float64 as the nearest stored narrow float; `saturate` keeps what is too large finite."""
        single = round_to_odd(value) if value.element == "f64" else value
        return self.narrow_single(single, form, saturate)

    def narrow_single(self, value: Expression, form: FloatFormat, saturate: bool) -> Expression:
        """The same for a Float32."""
        return narrow(value, form, saturate=saturate)
