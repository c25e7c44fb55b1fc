"""Float formats narrower than 32 bits as data, and their exact arithmetic on Python floats, for every stage.

Input: a Python float or a bit pattern. Output: the other one. Rounding is to the nearest, ties to even, in one step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from triptych.support.dataclass import dataclass

SATURATE = "triptych.saturate"
"""The mark of a conversion that keeps what is too large finite, as NVIDIA's `satfinite` instructions do."""


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """A float format by the fields of its bit pattern; magnitudes are patterns without the sign bit."""

    mlir: str
    exponent_bits: int
    mantissa_bits: int
    bias: int
    largest: int
    """The magnitude of the largest finite number."""
    overflow: int
    """What a larger number becomes: infinity, NaN, or, in a format that has neither, the largest number."""
    nan: int | None
    """One pattern that is not a number; None when the format has none."""
    signed: bool = True
    negative_zero: bool = True

    @property
    def width(self) -> int:
        return int(self.signed) + self.exponent_bits + self.mantissa_bits

    @property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << (self.width - 1) if self.signed else 0

    @property
    def has_infinity(self) -> bool:
        return self.overflow not in (self.largest, self.nan)

    @property
    def limit(self) -> float:
        """The smallest number above all that round to a number of the format."""
        middle = (self._finite(self.largest) + self._finite(self.largest + 1)) / 2
        return math.nextafter(middle, math.inf) if self.holds(middle) else middle

    @property
    def smallest_exponent(self) -> int:
        """The power of two that the last bit of the smallest numbers stands for."""
        return 1 - self.bias - self.mantissa_bits

    def decode(self, pattern: int) -> float:
        """The number that a bit pattern stands for."""
        magnitude = pattern & ~self.sign
        if pattern == self.nan or magnitude > max(self.largest, self.overflow if self.has_infinity else 0):
            return math.nan
        value = math.inf if self.has_infinity and magnitude == self.overflow else self._finite(magnitude)
        return -value if pattern & self.sign else value

    def _finite(self, magnitude: int) -> float:
        exponent, mantissa = magnitude >> self.mantissa_bits, magnitude & ((1 << self.mantissa_bits) - 1)
        if not self.signed:
            return math.ldexp(1.0, exponent - self.bias)
        if exponent == 0:
            return math.ldexp(mantissa, self.smallest_exponent)
        return math.ldexp(mantissa + (1 << self.mantissa_bits), exponent - 1 + self.smallest_exponent)

    def encode(self, value: float) -> int:
        """The bit pattern nearest to a number. NaN becomes the largest number where the format has no NaN."""
        if math.isnan(value):
            return self.largest if self.nan is None else self.nan
        if not self.signed and value < 0:
            assert self.nan is not None, "formats without a sign have NaN"
            return self.nan
        magnitude = self._nearest_power(value) if not self.signed else self._nearest(abs(value))
        pattern = self.overflow if magnitude > self.largest else magnitude
        negative = math.copysign(1.0, value) < 0 and (pattern != 0 or self.negative_zero)
        return pattern | self.sign if negative else pattern

    def _nearest(self, value: float) -> int:
        """Beyond the largest number the patterns are simply counted on."""
        if math.isinf(value) or value == 0:
            return 0 if value == 0 else self.largest + 1
        _, exponent = math.frexp(value)
        last = max(exponent - 1 - self.mantissa_bits, self.smallest_exponent)
        return ((last - self.smallest_exponent) << self.mantissa_bits) + round(math.ldexp(value, -last))

    def _nearest_power(self, value: float) -> int:
        """For zero that of the smallest number."""
        if math.isinf(value):
            return self.largest + 1
        _, exponent = math.frexp(value)
        last = max(exponent - 1, -self.bias) if value else -self.bias
        return last + self.bias + int(math.ldexp(value, -last) >= 1.5)

    def round(self, value: float) -> float:
        """The number of the format nearest to `value`."""
        return self.decode(self.encode(value))

    def holds(self, value: float) -> bool:
        """Whether the format has numbers around `value`: it is not beyond the largest, and of a kind that exists."""
        if math.isnan(value):
            return self.nan is not None
        if math.isinf(value):
            return self.has_infinity
        if not self.signed and value < 0:
            return False
        return (self._nearest(abs(value)) if self.signed else self._nearest_power(value)) <= self.largest


_FORMATS = (
    FloatFormat("f4E2M1FN", 2, 1, 1, largest=0x7, overflow=0x7, nan=None),
    FloatFormat("f6E2M3FN", 2, 3, 1, largest=0x1F, overflow=0x1F, nan=None),
    FloatFormat("f6E3M2FN", 3, 2, 3, largest=0x1F, overflow=0x1F, nan=None),
    FloatFormat("f8E4M3", 4, 3, 7, largest=0x77, overflow=0x78, nan=0x7C),
    FloatFormat("f8E4M3FN", 4, 3, 7, largest=0x7E, overflow=0x7F, nan=0x7F),
    FloatFormat("f8E4M3B11FNUZ", 4, 3, 11, largest=0x7F, overflow=0x80, nan=0x80, negative_zero=False),
    FloatFormat("f8E4M3FNUZ", 4, 3, 8, largest=0x7F, overflow=0x80, nan=0x80, negative_zero=False),
    FloatFormat("f8E5M2FNUZ", 5, 2, 16, largest=0x7F, overflow=0x80, nan=0x80, negative_zero=False),
    FloatFormat("f8E5M2", 5, 2, 15, largest=0x7B, overflow=0x7C, nan=0x7E),
    FloatFormat("f8E8M0FNU", 8, 0, 127, largest=0xFE, overflow=0xFF, nan=0xFF, signed=False),
    FloatFormat("f16", 5, 10, 15, largest=0x7BFF, overflow=0x7C00, nan=0x7E00),
    FloatFormat("bf16", 8, 7, 127, largest=0x7F7F, overflow=0x7F80, nan=0x7FC0),
    FloatFormat("tf32", 8, 10, 127, largest=0x3FBFF, overflow=0x3FC00, nan=0x3FE00),
)
FLOAT_FORMATS: Mapping[str, FloatFormat] = MappingProxyType({form.mlir: form for form in _FORMATS})
"""Every float format narrower than 32 bits of precision and range, by its MLIR spelling."""
