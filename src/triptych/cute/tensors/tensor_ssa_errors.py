"""What can be wrong with small tensors and the mathematics on them, found while tracing."""

from __future__ import annotations

from triptych.cute.tracing.cute_errors import TensorError
from triptych.support.errors import TriptychError


class TensorTruthError(TensorError, TypeError):
    """A tensor used as one truth value."""

    code = "TT0921"
    failing = """
from triptych import cute

@tt.jit
def f(x: tt.Float32):
    if cute.full(4, 1.0, tt.Float32) > x:
        return 1
    return 0

f(0.5)
"""
    fixed = """
from triptych import cute

@tt.jit
def f(x: tt.Float32):
    if cute.all_(cute.full(4, 1.0, tt.Float32) > x):
        return 1
    return 0

f(0.5)
"""


class RoundingModeError(TriptychError, NotImplementedError):
    """A rounding mode that no target has for a function yet."""

    code = "TT0922"
    failing = """
from triptych import cute

@tt.jit
def f(x: tt.Float32):
    return cute.math.add(x, 0.1, rounding=cute.math.RoundingMode.UP)

f(1.0)
"""
    fixed = """
from triptych import cute

@tt.jit
def f(x: tt.Float32):
    return cute.math.add(x, 0.1, rounding=cute.math.RoundingMode.NEAREST_EVEN)

f(1.0)
"""
