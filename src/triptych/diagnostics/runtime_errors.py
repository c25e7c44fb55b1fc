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
@tt.jit
def add(a, b):
    return a + b

tt.compile(add, 1, 2)(1)
"""
    fixed = """
@tt.jit
def add(a, b):
    return a + b

tt.compile(add, 1, 2)(1, 2)
"""


class ArgumentTypeError(CompiledCodeError, TypeError):
    """A compiled function was called with an argument of another type than it was compiled for."""

    code = "TT0602"
    failing = """
@tt.jit
def double(a: tt.Int32):
    return a + a

tt.compile(double, 1)("one")
"""
    fixed = """
@tt.jit
def double(a: tt.Int32):
    return a + a

tt.compile(double, 1)(1)
"""


class ArgumentRangeError(CompiledCodeError, OverflowError):
    """An int argument does not fit in the type that the function was compiled for."""

    code = "TT0603"
    failing = """
@tt.jit
def double(a: tt.Int8):
    return a + a

double(300)
"""
    fixed = """
@tt.jit
def double(a: tt.Int32):
    return a + a

double(300)
"""


class DivisionByZeroError(CompiledCodeError, ZeroDivisionError):
    """Compiled code divided by zero where Python would raise."""

    code = "TT0604"
    failing = """
@tt.jit
def share(total: tt.Int32, people: tt.Int32):
    return total // people

share(10, 0)
"""
    fixed = """
@tt.jit
def share(total: tt.Int32, people: tt.Int32):
    return total // people if people != 0 else total

share(10, 0)
"""


class AssertionFailedError(CompiledCodeError, AssertionError):
    """An `assert` on a run-time value did not hold."""

    code = "TT0605"
    failing = """
@tt.jit
def root(x: tt.Float32):
    assert x >= 0.0, "no root of a negative number"
    return x ** 0.5

root(-1.0)
"""
    fixed = """
@tt.jit
def root(x: tt.Float32):
    assert x >= 0.0, "no root of a negative number"
    return x ** 0.5

root(4.0)
"""


class IndexOutOfRangeError(CompiledCodeError, IndexError):
    """A run-time index lies outside the sequence."""

    code = "TT0606"
    failing = """
@tt.jit
def pick(i: tt.Int32):
    return [10, 20, 30][i]

pick(3)
"""
    fixed = """
@tt.jit
def pick(i: tt.Int32):
    return [10, 20, 30][i]

pick(2)
"""


class NegativeShiftError(CompiledCodeError, ValueError):
    """A shift by a negative count, which Python refuses too."""

    code = "TT0607"
    failing = """
@tt.jit
def shift(x: tt.Int32, n: tt.Int32):
    return x << n

shift(1, -1)
"""
    fixed = """
@tt.jit
def shift(x: tt.Int32, n: tt.Int32):
    return x << n

shift(1, 4)
"""


class ZeroStepError(CompiledCodeError, ValueError):
    """The step of a `range` is zero at run time."""

    code = "TT0608"
    failing = """
@tt.jit
def count(n: tt.Int32, step: tt.Int32):
    total = 0
    for i in range(0, n, step):
        total += 1
    return total

count(10, 0)
"""
    fixed = """
@tt.jit
def count(n: tt.Int32, step: tt.Int32):
    total = 0
    for i in range(0, n, step):
        total += 1
    return total

count(10, 2)
"""


class LayoutRequirementError(CompiledCodeError, ValueError):
    """A layout of run-time integers lacks what an operation needs of it, or what was declared of it."""

    code = "TT0609"
    failing = """
from triptych.cute import realize, traced_int
from triptych.layout import Layout, composition

@tt.jit
def index(rows: tt.Int32, i: tt.Int32):
    part = composition(Layout((traced_int(rows), 8), (8, 1)), Layout(4, 1))
    return realize(part(traced_int(i)))

index(3, 2)
"""
    fixed = """
from triptych.cute import realize, traced_int
from triptych.layout import Layout, composition

@tt.jit
def index(rows: tt.Int32, i: tt.Int32):
    part = composition(Layout((traced_int(rows), 8), (8, 1)), Layout(4, 1))
    return realize(part(traced_int(i)))

index(16, 2)
"""


class OutOfBoundsError(CompiledCodeError, IndexError):
    """In a debug build, an access lies outside the memory of its tensor."""

    code = "TT0610"
    failing = """
from triptych import cute
from triptych.support.config import override

@tt.jit
def f(i: tt.Int32):
    row = cute.make_rmem_tensor((8,), tt.Float32)
    row.fill(0.0)
    return row[i]

with override(debug="bounds"):
    f(8)
"""
    fixed = """
from triptych import cute
from triptych.support.config import override

@tt.jit
def f(i: tt.Int32):
    row = cute.make_rmem_tensor((8,), tt.Float32)
    row.fill(0.0)
    return row[i]

with override(debug="bounds"):
    f(7)
"""


class MisalignedAccessError(CompiledCodeError, ValueError):
    """In a debug build, an address is not a multiple of the alignment that was assumed or promised of it."""

    code = "TT0611"
    failing = """
from triptych import cute
from triptych.support.config import override

@tt.jit
def f(i: tt.Int32):
    row = cute.make_rmem_tensor((8,), tt.Float32)
    row.fill(0.0)
    part = (row.iterator + i).align(16)
    return cute.make_tensor(part, cute.make_layout((4,)))[0]

with override(debug="bounds"):
    f(1)
"""
    fixed = """
from triptych import cute
from triptych.support.config import override

@tt.jit
def f(i: tt.Int32):
    row = cute.make_rmem_tensor((8,), tt.Float32)
    row.fill(0.0)
    part = (row.iterator + i).align(16)
    return cute.make_tensor(part, cute.make_layout((4,)))[0]

with override(debug="bounds"):
    f(4)
"""


class NullPointerError(CompiledCodeError, ValueError):
    """In a debug build, an access through a pointer without memory behind it."""

    code = "TT0612"
    failing = """
from triptych import cute
from triptych.support.config import override

@tt.jit
def f(address: tt.Int64):
    return cute.make_tensor(cute.make_ptr(tt.Float32, address), cute.make_layout((4,)))[0]

with override(debug="bounds"):
    f(0)
"""
    fixed = """
import numpy as np
from triptych import cute
from triptych.support.config import override

@tt.jit
def f(address: tt.Int64):
    return cute.make_tensor(cute.make_ptr(tt.Float32, address), cute.make_layout((4,)))[0]

numbers = np.zeros(4, np.float32)
with override(debug="bounds"):
    f(numbers.ctypes.data)
"""


class NanMembershipError(CompiledCodeError, ValueError):
    """`in` meets NaN on both sides: Python asks whether the two are one object, which no run-time number is."""

    code = "TT0613"
    failing = """
@tt.jit
def f(x: tt.Float32, y: tt.Float32):
    return x in (0.0, y)

f(float("nan"), float("nan"))
"""
    fixed = """
@tt.jit
def f(x: tt.Float32, y: tt.Float32):
    return x == 0.0 or x == y

f(float("nan"), float("nan"))
"""
