"""A Python int for a parameter that is declared as an integer stays one where a compiled function calls another."""

from __future__ import annotations

from typing import Any

import pytest

import triptych as tt
from triptych import cute
from triptych.support.errors import TriptychError


@tt.jit
def shape_of(extent: tt.Int32, other: tt.Int64) -> Any:
    return cute.make_layout((extent, other)).shape


@tt.jit
def half(x: tt.Float32) -> Any:
    return x / 2


@tt.jit
def calls(n: tt.Int32) -> Any:
    known = shape_of(2, 3)
    assert known == (2, 3)
    return half(3) + shape_of(n, 3)[0]


@tt.jit
def too_large() -> Any:
    return shape_of(1 << 40, 3)[0]


def test_what_the_caller_knows_is_known_in_the_callee() -> None:
    assert calls(7) == 8.5


def test_it_still_has_to_fit_its_type() -> None:
    with pytest.raises(TriptychError, match="Int32"):
        too_large()
