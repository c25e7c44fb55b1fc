"""Errors of a program that are found while it is traced: in joins, loops, calls, and by habits of other languages."""

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
