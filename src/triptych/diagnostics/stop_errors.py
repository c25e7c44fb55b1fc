"""Errors of `breakpoint()` in kernels."""

from __future__ import annotations

from triptych.support.errors import TriptychError

_FILLING = """
import numpy as np

from triptych import cute
from triptych.support.config import override

@tt.kernel
def fill(x: cute.Tensor):
    i = cute.arch.thread_idx()[0]
    x[i] = i

@tt.jit
def run(x: cute.Tensor):
    fill(x).launch(grid=1, block=4)

"""
_STOPPING = _FILLING.replace("    x[i] = i", "    breakpoint()\n    x[i] = i")


class NobodyAnswersError(TriptychError, RuntimeError):
    """A thread of a kernel stops for the debugger where no terminal is: waiting for an answer would never end."""

    code = "TT0614"
    failing = (
        _STOPPING
        + """# python program.py < /dev/null
with override(debug="break"):
    run(np.zeros(4, np.int32))
"""
    )
    fixed = (
        _STOPPING
        + """# PYTHONBREAKPOINT=0 python program.py < /dev/null
with override(debug="break"):
    run(np.zeros(4, np.int32))
"""
    )


class BreakPlaceError(TriptychError, ValueError):
    """A place where a thread is to stop has no file, or no statement of the kernel: no thread would ever stop there."""

    code = "TT0615"
    failing = (
        _FILLING
        + """with override(break_="no_such_file.py:12"):
    run(np.zeros(4, np.int32))
"""
    )
    fixed = (
        _FILLING
        + """run(np.zeros(4, np.int32))
"""
    )


class DeviceBreakpointError(TriptychError, RuntimeError):
    """`breakpoint()` is to be compiled into a kernel for a GPU, whose threads cannot wait for Python."""

    code = "TT0616"
    failing = (
        _STOPPING
        + """with override(debug="break"):
    tt.compile(run, np.zeros(4, np.int32), target="nvptx:sm_80")
"""
    )
    fixed = (
        _STOPPING
        + """with override(debug="break"):
    tt.compile(run, np.zeros(4, np.int32), target="cpu")
"""
    )
