"""What can be wrong with small tensors and the mathematics on them, found while tracing."""

from __future__ import annotations

from triptych.cute.tracing.cute_errors import TensorError
from triptych.support.errors import TriptychError


class TensorTruthError(TensorError, TypeError):
    """A tensor used as one truth value."""

    code = "TT0921"


class RoundingModeError(TriptychError, NotImplementedError):
    """A rounding mode that no target has for a function yet."""

    code = "TT0922"
