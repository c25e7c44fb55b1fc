"""Errors raised by compiled code: wrong arguments at the call, and checks that failed while it ran.

The names of these classes are part of the compiled code: an assertion in MLIR names the class that it raises.
"""

from __future__ import annotations

from triptych.support.errors import TriptychError


class CompiledCodeError(TriptychError):
    """Root of what compiled code raises."""

    code = "TT0600"


class ArgumentCountError(CompiledCodeError, TypeError):
    """A compiled function was called with too many or too few arguments."""

    code = "TT0601"
    failing = """
@triptych.jit
def add(a, b):
    return a + b

triptych.compile(add, 1, 2)(1)
"""
    fixed = """
@triptych.jit
def add(a, b):
    return a + b

triptych.compile(add, 1, 2)(1, 2)
"""


class ArgumentTypeError(CompiledCodeError, TypeError):
    """A compiled function was called with an argument of another type than it was compiled for."""

    code = "TT0602"
    failing = """
@triptych.jit
def double(a: triptych.Int32):
    return a + a

triptych.compile(double, 1)("one")
"""
    fixed = """
@triptych.jit
def double(a: triptych.Int32):
    return a + a

triptych.compile(double, 1)(1)
"""


class ArgumentRangeError(CompiledCodeError, OverflowError):
    """An int argument does not fit in the type that the function was compiled for."""

    code = "TT0603"
    failing = """
@triptych.jit
def double(a: triptych.Int8):
    return a + a

double(300)
"""
    fixed = """
@triptych.jit
def double(a: triptych.Int32):
    return a + a

double(300)
"""


class DivisionByZeroError(CompiledCodeError, ZeroDivisionError):
    """Compiled code divided by zero where Python would raise."""

    code = "TT0604"
    failing = """
@triptych.jit
def share(total: triptych.Int32, people: triptych.Int32):
    return total // people

share(10, 0)
"""
    fixed = """
@triptych.jit
def share(total: triptych.Int32, people: triptych.Int32):
    return total // people if people != 0 else total

share(10, 0)
"""


class AssertionFailedError(CompiledCodeError, AssertionError):
    """An `assert` on a run-time value did not hold."""

    code = "TT0605"
    failing = """
@triptych.jit
def root(x: triptych.Float32):
    assert x >= 0.0, "no root of a negative number"
    return x ** 0.5

root(-1.0)
"""
    fixed = """
@triptych.jit
def root(x: triptych.Float32):
    assert x >= 0.0, "no root of a negative number"
    return x ** 0.5

root(4.0)
"""


class IndexOutOfRangeError(CompiledCodeError, IndexError):
    """A run-time index lies outside the sequence."""

    code = "TT0606"
    failing = """
@triptych.jit
def pick(i: triptych.Int32):
    return [10, 20, 30][i]

pick(3)
"""
    fixed = """
@triptych.jit
def pick(i: triptych.Int32):
    return [10, 20, 30][i]

pick(2)
"""


class NegativeShiftError(CompiledCodeError, ValueError):
    """A shift by a negative count, which Python refuses too."""

    code = "TT0607"
    failing = """
@triptych.jit
def shift(x: triptych.Int32, n: triptych.Int32):
    return x << n

shift(1, -1)
"""
    fixed = """
@triptych.jit
def shift(x: triptych.Int32, n: triptych.Int32):
    return x << n

shift(1, 4)
"""


class ZeroStepError(CompiledCodeError, ValueError):
    """The step of a `range` is zero at run time."""

    code = "TT0608"
    failing = """
@triptych.jit
def count(n: triptych.Int32, step: triptych.Int32):
    total = 0
    for i in range(0, n, step):
        total += 1
    return total

count(10, 0)
"""
    fixed = """
@triptych.jit
def count(n: triptych.Int32, step: triptych.Int32):
    total = 0
    for i in range(0, n, step):
        total += 1
    return total

count(10, 2)
"""


CHECK_ERRORS: dict[str, type[CompiledCodeError]] = {
    cls.__name__: cls
    for cls in (DivisionByZeroError, AssertionFailedError, IndexOutOfRangeError, NegativeShiftError, ZeroStepError)
}
"""What a run-time check may raise, by the name it has in MLIR."""
