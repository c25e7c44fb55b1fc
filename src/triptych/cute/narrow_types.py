"""Asking for the kind of a numeric type."""

from __future__ import annotations

from triptych.metastage.scalars import Float8E4M3FN, Float8E5M2, Numeric

FP8 = (Float8E4M3FN, Float8E5M2)
"""The floats of eight bits that matrix instructions multiply."""


def is_fp8_dtype(dtype: type[Numeric]) -> bool:
    """Whether elements of this type are factors of eight bits."""
    return dtype in FP8
