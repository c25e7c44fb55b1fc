"""Errors of tensors that are passed to compiled code."""

from __future__ import annotations

from collections.abc import Callable

from triptych.support.errors import TriptychError
from triptych.support.source import Span


class UnsupportedTensorError(TriptychError, TypeError):
    """An object whose memory compiled code cannot use: no DLPack, complex numbers, another byte order …"""

    code = "TT0640"


class ArgumentTensorTypeError(TriptychError, TypeError):
    """A tensor with elements of another type, or with another number of modes, than the function was compiled for."""

    code = "TT0641"


class ArgumentTensorError(TriptychError, ValueError):
    """A tensor with another shape, stride, alignment or device than the function was compiled for."""

    code = "TT0642"


OTHER_LAYOUTS: list[Callable[[TriptychError], None]] = []
"""Who is told of a tensor with another layout than an exported function was compiled for, which is then passed all the
same: by the dynamic values of its own layout, as C would. Nobody by default: it is an error."""

UNFOLLOWED: list[Callable[[TriptychError], None]] = []
"""Who is told of a tensor that requires a gradient while autograd follows, which is then passed all the same. Nobody by
default: it is an error."""

PYTHON_TYPES_ASKED_FOR: list[Callable[[TriptychError], None]] = []
"""Who is told of `isinstance(x, int)` of a run-time number that might be Python's own, which is False then. Nobody by
default: it is an error."""


class ReadOnlyTensorError(TriptychError, ValueError):
    """A read-only tensor is passed to a function that may write to it."""

    code = "TT0643"


def read_only_argument(path: str, value: object, span: Span | None) -> ReadOnlyTensorError:
    """The error of an argument that the function may write to, at the call."""
    return ReadOnlyTensorError(
        f"argument {path!r} is read-only, and the function may write to it",
        span=span,
        found=f"a read-only {type(value).__name__}",
        expected="memory that may be written to",
        instead="a copy",
    )


class TracedByTorchError(TriptychError, RuntimeError):
    """A tracer of torch is recording: the call would happen now, once, and be missing from what was recorded."""

    code = "TT0649"


class TracedByJaxError(TriptychError, TypeError):
    """A transform of JAX is tracing: what it gives stands for an array and has no memory."""

    code = "TT0651"


class OperatorDeclarationError(TriptychError, ValueError):
    """An operator of a framework that does not fit the function it is made of."""

    code = "TT0654"


class OperatorLibraryError(TriptychError, ValueError):
    """A shared library of operators cannot be written or loaded."""

    code = "TT0657"


class OperatorGradientError(TriptychError, NotImplementedError):
    """A gradient through an operator that has no backward function."""

    code = "TT0655"


class MissingProgramError(TriptychError, LookupError):
    """A framework calls a compiled program that neither this process nor its store has."""

    code = "TT0656"
