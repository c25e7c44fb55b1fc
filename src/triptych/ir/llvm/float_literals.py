"""Float literals of LLVM 24 text rewritten for LLVM 22.

The newer printer writes `+inf`, `-nan(0x1)`, `f0x3EAAAAAB` and shortest decimals such as `float 1.0e-01`. The older
parser wants decimals that are exact, and hexadecimal bits otherwise; bits are always right, so every literal becomes
bits.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """An IEEE-like format: its LLVM type name, widths of exponent and mantissa, and how LLVM 22 spells its bits."""

    name: str
    exponent: int
    mantissa: int
    spelling: Callable[[int], str]

    @property
    def sign(self) -> int:
        return 1 << (self.exponent + self.mantissa)

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent) - 1) << self.mantissa


def _spell_float(bits: int) -> str:
    """LLVM spells a `float` by the bits of the `double` of equal value; NaN payloads shift with the mantissa."""
    sign, exponent, mantissa = bits >> 31, (bits >> 23) & 0xFF, bits & 0x7FFFFF
    if exponent == 0xFF:
        return f"0x{sign << 63 | 0x7FF << 52 | mantissa << 29:016X}"
    (value,) = struct.unpack("<f", struct.pack("<I", bits))
    return f"0x{_double_bits(value):016X}"


FORMATS = {
    spec.name: spec
    for spec in (
        FloatFormat("half", 5, 10, lambda bits: f"0xH{bits:04X}"),
        FloatFormat("bfloat", 8, 7, lambda bits: f"0xR{bits:04X}"),
        FloatFormat("float", 8, 23, _spell_float),
        FloatFormat("double", 11, 52, lambda bits: f"0x{bits:016X}"),
    )
}

_TOKENS = re.compile(
    r"""
      "(?:[^"\\]|\\.)*"                 # a string or a quoted name: skipped as a whole
    | [%@!#$][-\w$.]*                   # a name: skipped
    | ;[^\n]*                           # a comment: skipped
    | \b(?P<type>half|bfloat|float|double)\b
    | (?<![\w.$%@])
      (?P<literal>
          [+-]?\d+\.\d*(?:e[+-]?\d+)?
        | [+-]?inf\b
        | [+-]?[qs]?nan\b(?:\(0x[0-9A-Fa-f]+\))?
        | f0x[0-9A-Fa-f]+
      )
    """,
    re.VERBOSE,
)


_HINT = re.compile(r"\d\.(?![a-df-z])|inf\b|nan\b|f0x")
"""What every literal contains, and few names do: looking for this is ten times faster than reading tokens."""


def downgrade_float_literals(text: str) -> str:
    """The same program with every float literal spelled as bits that LLVM 22 reads.

    Few of a kernel's tens of thousands of lines have even the letters of a literal. Bits have none of them, so a line
    may be read twice.
    """
    lines = text.splitlines(keepends=True)
    for letters in filter(text.__contains__, (".", "inf", "nan", "f0x")):
        for number, line in enumerate(lines):
            if letters in line:
                lines[number] = _downgrade_line(line)
    return "".join(lines)


def _downgrade_line(line: str) -> str:
    if _HINT.search(line) is None:
        return line
    current: FloatFormat | None = None

    def rewrite(match: re.Match[str]) -> str:
        nonlocal current
        if match["type"]:
            current = FORMATS[match["type"]]
        elif match["literal"] and current is not None:
            return current.spelling(literal_bits(current, match["literal"]))
        return match[0]

    return _TOKENS.sub(rewrite, line)


def literal_bits(spec: FloatFormat, literal: str) -> int:
    """The bits of a literal as LLVM 24 prints it for a value of this format."""
    if literal.startswith("f0x"):
        return int(literal[3:], 16)
    sign = spec.sign if literal.startswith("-") else 0
    magnitude = literal.lstrip("+-")
    if magnitude == "inf":
        return sign | spec.infinity
    if "nan" in magnitude:
        return sign | spec.infinity | _nan_payload(spec, magnitude)
    return _rounded_bits(spec, float(literal))


def _nan_payload(spec: FloatFormat, magnitude: str) -> int:
    quiet = 0 if magnitude.startswith("snan") else 1 << (spec.mantissa - 1)
    _, _, payload = magnitude.partition("(0x")
    return quiet | (int(payload.rstrip(")"), 16) if payload else 0)


def _rounded_bits(spec: FloatFormat, value: float) -> int:
    if spec.name == "double":
        return _double_bits(value)
    if spec.name == "half":
        return int.from_bytes(struct.pack("<e", value), "little")
    bits = int.from_bytes(struct.pack("<f", value), "little")
    if spec.name == "float":
        return bits
    return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16


def _double_bits(value: float) -> int:
    return int.from_bytes(struct.pack("<d", value), "little")
