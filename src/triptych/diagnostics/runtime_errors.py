"""Errors of compiled code: wrong arguments at the call, checks that failed while it ran, breakpoints, exports."""

from __future__ import annotations

from triptych.support.errors import TriptychError


class CompiledCodeError(TriptychError):
    """Root of what compiled code raises."""

    code = "TT0600"


class ArgumentCountError(CompiledCodeError, TypeError):
    """A compiled function was called with too many or too few arguments."""

    code = "TT0601"


class ArgumentTypeError(CompiledCodeError, TypeError):
    """A compiled function was called with an argument of another type than it was compiled for."""

    code = "TT0602"


class ArgumentRangeError(CompiledCodeError, OverflowError):
    """An int argument does not fit in the type that the function was compiled for."""

    code = "TT0603"


class DivisionByZeroError(CompiledCodeError, ZeroDivisionError):
    """Compiled code divided by zero where Python would raise."""

    code = "TT0604"


class AssertionFailedError(CompiledCodeError, AssertionError):
    """An `assert` on a run-time value did not hold."""

    code = "TT0605"


class IndexOutOfRangeError(CompiledCodeError, IndexError):
    """A run-time index lies outside the sequence."""

    code = "TT0606"


class NegativeShiftError(CompiledCodeError, ValueError):
    """A shift by a negative count, which Python refuses too."""

    code = "TT0607"


class ZeroStepError(CompiledCodeError, ValueError):
    """The step of a `range` is zero at run time."""

    code = "TT0608"


class LayoutRequirementError(CompiledCodeError, ValueError):
    """A layout of run-time integers lacks what an operation needs of it, or what was declared of it."""

    code = "TT0609"


class OutOfBoundsError(CompiledCodeError, IndexError):
    """In a debug build, an access lies outside the memory of its tensor."""

    code = "TT0610"


class MisalignedAccessError(CompiledCodeError, ValueError):
    """In a debug build, an address is not a multiple of the alignment that was assumed or promised of it."""

    code = "TT0611"


class NullPointerError(CompiledCodeError, ValueError):
    """In a debug build, an access through a pointer without memory behind it."""

    code = "TT0612"


class NanMembershipError(CompiledCodeError, ValueError):
    """`in` meets NaN on both sides: Python asks whether the two are one object, which no run-time number is."""

    code = "TT0613"


class BackgroundReadError(CompiledCodeError, RuntimeError):
    """A bulk store or a product reads memory that is not fenced, or is overwritten meanwhile (checker `races`)."""

    code = "TT0634"


class ExportedModuleError(TriptychError, ValueError):
    """A file is no module that was exported, or it was by a version whose interface is another one."""

    code = "TT0522"


class MissingFunctionError(TriptychError, AttributeError):
    """A module that was exported has no function of that name."""

    code = "TT0523"


class ExportedCallError(TriptychError, RuntimeError):
    """An exported function has failed while it ran: it knows a text, but not the exception that Python would raise."""

    code = "TT0650"


class NobodyAnswersError(TriptychError, RuntimeError):
    """A thread of a kernel stops for the debugger where no terminal is: waiting for an answer would never end."""

    code = "TT0614"


class BreakPlaceError(TriptychError, ValueError):
    """A place where a thread is to stop has no file, or no statement of the kernel: no thread would ever stop there."""

    code = "TT0615"


class DeviceBreakpointError(TriptychError, RuntimeError):
    """`breakpoint()` is to be compiled into a kernel for a GPU, whose threads cannot wait for Python."""

    code = "TT0616"
