"""Errors of `breakpoint()` in kernels."""

from __future__ import annotations

from triptych.support.errors import TriptychError


class NobodyAnswersError(TriptychError, RuntimeError):
    """A thread of a kernel stops for the debugger where no terminal is: waiting for an answer would never end."""

    code = "TT0614"
    failing = """
import numpy as np

from triptych import cute
from triptych.support.config import override

@tt.kernel
def fill(x: cute.Tensor):
    i = cute.arch.thread_idx()[0]
    breakpoint()
    x[i] = i

@tt.jit
def run(x: cute.Tensor):
    fill(x).launch(grid=1, block=4)

# python program.py < /dev/null
with override(debug="break"):
    run(np.zeros(4, np.int32))
"""
    fixed = """
import numpy as np

from triptych import cute
from triptych.support.config import override

@tt.kernel
def fill(x: cute.Tensor):
    i = cute.arch.thread_idx()[0]
    breakpoint()
    x[i] = i

@tt.jit
def run(x: cute.Tensor):
    fill(x).launch(grid=1, block=4)

# PYTHONBREAKPOINT=0 python program.py < /dev/null
with override(debug="break"):
    run(np.zeros(4, np.int32))
"""


class BreakPlaceError(TriptychError, ValueError):
    """A place where a thread is to stop has no file, or no statement of the kernel: no thread would ever stop there."""

    code = "TT0615"
    failing = """
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

with override(break_="no_such_file.py:12"):
    run(np.zeros(4, np.int32))
"""
    fixed = """
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

run(np.zeros(4, np.int32))
"""


class DeviceBreakpointError(TriptychError, RuntimeError):
    """`breakpoint()` is to be compiled into a kernel for a GPU, whose threads cannot wait for Python."""

    code = "TT0616"
    failing = """
import numpy as np

from triptych import cute
from triptych.support.config import override

@tt.kernel
def fill(x: cute.Tensor):
    i = cute.arch.thread_idx()[0]
    breakpoint()
    x[i] = i

@tt.jit
def run(x: cute.Tensor):
    fill(x).launch(grid=1, block=4)

with override(debug="break"):
    tt.compile(run, np.zeros(4, np.int32), target="nvptx:sm_80")
"""
    fixed = """
import numpy as np

from triptych import cute
from triptych.support.config import override

@tt.kernel
def fill(x: cute.Tensor):
    i = cute.arch.thread_idx()[0]
    breakpoint()
    x[i] = i

@tt.jit
def run(x: cute.Tensor):
    fill(x).launch(grid=1, block=4)

with override(debug="break"):
    tt.compile(run, np.zeros(4, np.int32), target="cpu")
"""
