"""Errors of calls of a compiled function or a kernel: arguments, results, decorations."""

from __future__ import annotations

from triptych.support.errors import TriptychError


class ArgumentBindingError(TriptychError, TypeError):
    """Too many, too few or misnamed arguments in a call of a compiled function."""

    code = "TT0401"


class ArgumentKindError(TriptychError, TypeError):
    """An argument that cannot be passed as a run-time value, or not as the annotated type."""

    code = "TT0402"


class KernelCallError(TriptychError, RuntimeError):
    """A kernel called from where it cannot be launched."""

    code = "TT0403"


class DecorationError(TriptychError, TypeError):
    """`@jit` or `@kernel` on something that is not a Python function, or twice."""

    code = "TT0406"


class ReturnValueError(TriptychError, TypeError):
    """A value that a compiled function cannot return to Python."""

    code = "TT0404"
