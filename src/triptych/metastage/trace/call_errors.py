"""Errors of calls of a compiled function or a kernel: arguments, results, decorations."""

from __future__ import annotations

from triptych.support.errors import TriptychError


class ArgumentBindingError(TriptychError, TypeError):
    """Too many, too few or misnamed arguments in a call of a compiled function."""

    code = "TT0401"
    failing = """
@tt.jit
def f(x: tt.Int32):
    return x

f(1, 2)
"""
    fixed = """
@tt.jit
def f(x: tt.Int32):
    return x

f(1)
"""


class ArgumentKindError(TriptychError, TypeError):
    """An argument that cannot be passed as a run-time value, or not as the annotated type."""

    code = "TT0402"
    failing = """
@tt.jit
def f(name):
    return 1

f("relu")
"""
    fixed = """
@tt.jit
def f(name: tt.Constexpr):
    return 1

f("relu")
"""


class KernelCallError(TriptychError, RuntimeError):
    """A kernel called from where it cannot be launched."""

    code = "TT0403"
    failing = """
@tt.kernel
def k(n: tt.Int32):
    pass

k(4)
"""
    fixed = """
@tt.kernel
def k(n: tt.Int32):
    pass

@tt.jit
def host(n: tt.Int32):
    k(n).launch(grid=(1, 1, 1), block=(32, 1, 1))

host(3)
"""


class DecorationError(TriptychError, TypeError):
    """`@jit` or `@kernel` on something that is not a Python function, or twice."""

    code = "TT0406"
    failing = """
@tt.jit
@tt.kernel
def k(n: tt.Int32):
    pass
"""
    fixed = """
@tt.kernel
def k(n: tt.Int32):
    pass
"""


class ReturnValueError(TriptychError, TypeError):
    """A value that a compiled function cannot return to Python."""

    code = "TT0404"
    failing = """
@tt.jit
def f(x: tt.Int32):
    return [x, x]

f(3)
"""
    fixed = """
@tt.jit
def f(x: tt.Int32):
    return x, x

f(3)
"""
