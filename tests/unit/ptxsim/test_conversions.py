"""Conversions of the PTX simulator whose rounding no library has; `triptych.ptxsim.conversions`."""

from __future__ import annotations

import math

import numpy as np
import pytest

from triptych.ptxsim.conversions import conversion

VALUES = (0.0, -0.0, 1e-45, 2.0**-127, 1.25 * 2.0**-127, 1.0, -1.0, 1.25, 3.4e38, math.inf, math.nan)
UP = (0, 0, 0, 0, 1, 127, 127, 128, 254, 254, 255)
TO_ZERO = (0, 0, 0, 0, 0, 127, 127, 127, 254, 254, 255)


@pytest.mark.parametrize(("rounding", "expected"), [("rp", UP), ("rz", TO_ZERO)])
def test_scales_are_powers_of_two_without_a_sign(rounding: str, expected: tuple[int, ...]) -> None:
    result, operands, convert = conversion([rounding, "satfinite", "ue8m0x2", "f32"])
    numbers = np.array(VALUES, np.float32)
    found = convert(numbers, np.ones_like(numbers))
    assert (result, operands) == ("b16", ["f32", "f32"])
    assert [int(each) >> 8 for each in found] == list(expected)
    assert {int(each) & 0xFF for each in found} == {127}
