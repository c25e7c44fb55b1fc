"""Mistakes of programs written from habit: names, functions and unpacking as other languages have them."""

from __future__ import annotations

from triptych.support.errors import TriptychError


class UndefinedNameError(TriptychError, NameError):
    """A name that nothing defines; other languages for kernels may have it."""

    code = "TT0311"
    failing = """
from triptych import cute

@tt.kernel
def k():
    cute.printf("%d", threadIdx.x)

@tt.jit
def f():
    k().launch(grid=1, block=1)

f()
"""
    fixed = """
from triptych import cute

@tt.kernel
def k():
    cute.printf("%d", cute.arch.thread_idx()[0])

@tt.jit
def f():
    k().launch(grid=1, block=1)

f()
"""


class NotCallableError(TriptychError, TypeError):
    """A call of something that is no function."""

    code = "TT0312"
    failing = """
@tt.jit
def f(n: tt.Int32):
    range = 5
    return range(n)

f(3)
"""
    fixed = """
@tt.jit
def f(n: tt.Int32):
    limit = 5
    return limit * n

f(3)
"""


class ForeignFunctionError(TriptychError, TypeError):
    """A function of `math`, NumPy or PyTorch on a run-time value, which it would need to know while tracing."""

    code = "TT0313"
    failing = """
import math

@tt.jit
def f(x: tt.Float32):
    return math.sin(x)

f(1.0)
"""
    fixed = """
from triptych import cute

@tt.jit
def f(x: tt.Float32):
    return cute.math.sin(x)

f(1.0)
"""


class UnpackingError(TriptychError, ValueError):
    """More or fewer names than there are values to unpack."""

    code = "TT0314"
    failing = """
@tt.jit
def f(n: tt.Int32):
    a, b = (n, n, n)
    return a

f(3)
"""
    fixed = """
@tt.jit
def f(n: tt.Int32):
    a, b, _ = (n, n, n)
    return a

f(3)
"""


class DeclaredTypeError(TriptychError, TypeError):
    """A number goes where a type is declared that does not hold it."""

    code = "TT0315"
    failing = """
@tt.jit
def f(x: tt.Float64):
    whole: tt.Int32 = x
    return whole

f(2.75)
"""
    fixed = """
@tt.jit
def f(x: tt.Float64):
    whole: tt.Int32 = x.to(tt.Int32)
    return whole

f(2.75)
"""
