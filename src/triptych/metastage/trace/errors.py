"""Errors of a program that are found while it is traced."""

from __future__ import annotations

from triptych.support.errors import TriptychError


class MaybeUndefinedError(TriptychError, UnboundLocalError):
    """A variable is read although a path that reaches the read has not assigned it."""

    code = "TT0201"


class JoinTypeError(TriptychError, TypeError):
    """The paths of a branch leave values in a variable that cannot be one run-time value."""

    code = "TT0202"


class CarriedTypeError(TriptychError, TypeError):
    """A variable carried through a loop changes its type from one iteration to the next."""

    code = "TT0203"


class ReturnTypeError(TriptychError, TypeError):
    """Two `return` statements of one compiled function give values that cannot be one run-time value."""

    code = "TT0204"


class DynamicMutationError(TriptychError, TypeError):
    """A Python object from outside is changed while tracing, where the program would change it when it runs."""

    code = "TT0205"


class DynamicRaiseError(TriptychError, NotImplementedError):
    """`raise` where it depends on a run-time condition whether it happens."""

    code = "TT0206"


class StaticRequiredError(TriptychError, TypeError):
    """A run-time value where Python needs the value while the program is being traced."""

    code = "TT0207"


class LeakedValueError(TriptychError, RuntimeError):
    """A run-time value is used outside the branch, loop or trace that computes it."""

    code = "TT0208"


class EndlessInliningError(TriptychError, RecursionError):
    """A function calls itself under a run-time condition, so inlining it has no end."""

    code = "TT0209"


class TraceTimeEffectError(TriptychError, NotImplementedError):
    """A call whose effect would happen once, while tracing, where the program would have it when it runs."""

    code = "TT0210"


class OperandTypeError(TriptychError, TypeError):
    """An operator or conversion that the operand types do not have."""

    code = "TT0301"


class LiteralRangeError(TriptychError, OverflowError):
    """A Python number that does not fit the type it has to take."""

    code = "TT0302"


class PrintFormatError(TriptychError, ValueError):
    """A `printf` format that does not match its arguments."""

    code = "TT0303"


class LongTraceError(TriptychError, RuntimeError):
    """A program becomes too long while it is traced, most often by a loop that is unrolled."""

    code = "TT0219"


class BlockError(TriptychError, TypeError):
    """A `with` block that runs as often as the program decides is written where, or as, the compiler cannot follow."""

    code = "TT0211"
