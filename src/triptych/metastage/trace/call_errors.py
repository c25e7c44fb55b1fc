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


# Mistakes of programs written from habit: names, functions and unpacking as other languages have them.


class UndefinedNameError(TriptychError, NameError):
    """A name that nothing defines; other languages for kernels may have it."""

    code = "TT0311"


class NotCallableError(TriptychError, TypeError):
    """A call of something that is no function."""

    code = "TT0312"


class ForeignFunctionError(TriptychError, TypeError):
    """A function of `math`, NumPy or PyTorch on a run-time value, which it would need to know while tracing."""

    code = "TT0313"


class UnpackingError(TriptychError, ValueError):
    """More or fewer names than there are values to unpack."""

    code = "TT0314"


class DeclaredTypeError(TriptychError, TypeError):
    """A number goes where a type is declared that does not hold it."""

    code = "TT0315"
