"""Mistakes of programs written from habit: names, functions and unpacking as other languages have them."""

from __future__ import annotations

from triptych.support.errors import TriptychError


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
