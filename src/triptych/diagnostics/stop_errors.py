"""Errors of `breakpoint()` in kernels."""

from __future__ import annotations

from triptych.support.errors import TriptychError


class NobodyAnswersError(TriptychError, RuntimeError):
    """A thread of a kernel stops for the debugger where no terminal is: waiting for an answer would never end."""

    code = "TT0614"


class BreakPlaceError(TriptychError, ValueError):
    """A place where a thread is to stop has no file, or no statement of the kernel: no thread would ever stop there."""

    code = "TT0615"


class DeviceBreakpointError(TriptychError, RuntimeError):
    """`breakpoint()` is to be compiled into a kernel for a GPU, whose threads cannot wait for Python."""

    code = "TT0616"
