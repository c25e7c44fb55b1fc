"""Errors of a program that are found while it is traced."""

from __future__ import annotations

from triptych.support.errors import TriptychError


class MaybeUndefinedError(TriptychError, UnboundLocalError):
    """A variable is read although a path that reaches the read has not assigned it."""

    code = "TT0201"
    failing = """
@tt.jit
def f(n: tt.Int32):
    if n > 0:
        y = 1
    return y

f(3)
"""
    fixed = """
@tt.jit
def f(n: tt.Int32):
    y = 0
    if n > 0:
        y = 1
    return y

f(3)
"""


class JoinTypeError(TriptychError, TypeError):
    """The paths of a branch leave values in a variable that cannot be one run-time value."""

    code = "TT0202"
    failing = """
@tt.jit
def f(n: tt.Int32, x: tt.Float32):
    if n > 0:
        y = n
    else:
        y = x
    return y

f(3, 1.5)
"""
    fixed = """
@tt.jit
def f(n: tt.Int32, x: tt.Float32):
    if n > 0:
        y = tt.Float32(n)
    else:
        y = x
    return y

f(3, 1.5)
"""


class CarriedTypeError(TriptychError, TypeError):
    """A variable carried through a loop changes its type from one iteration to the next."""

    code = "TT0203"
    failing = """
@tt.jit
def f(n: tt.Int32):
    total = 0
    for i in range(n):
        total = total + 0.5
    return total

f(3)
"""
    fixed = """
@tt.jit
def f(n: tt.Int32):
    total = 0.0
    for i in range(n):
        total = total + 0.5
    return total

f(3)
"""


class ReturnTypeError(TriptychError, TypeError):
    """Two `return` statements of one compiled function give values that cannot be one run-time value."""

    code = "TT0204"
    failing = """
@tt.jit
def f(n: tt.Int32, x: tt.Float32):
    if n > 0:
        return n
    return x

f(3, 1.5)
"""
    fixed = """
@tt.jit
def f(n: tt.Int32, x: tt.Float32):
    if n > 0:
        return tt.Float32(n)
    return x

f(3, 1.5)
"""


class DynamicMutationError(TriptychError, TypeError):
    """A Python object from outside is changed while tracing, where the program would change it when it runs."""

    code = "TT0205"
    failing = """
@tt.jit
def f(n: tt.Int32):
    seen = []
    for i in range(n):
        seen.append(i)
    return len(seen)

f(3)
"""
    fixed = """
@tt.jit
def f(n: tt.Int32):
    seen = 0
    for i in range(n):
        seen += 1
    return seen

f(3)
"""


class DynamicRaiseError(TriptychError, NotImplementedError):
    """`raise` where it depends on a run-time condition whether it happens."""

    code = "TT0206"
    failing = """
@tt.jit
def f(n: tt.Int32):
    if n < 0:
        raise ValueError("negative")
    return n

f(3)
"""
    fixed = """
@tt.jit
def f(n: tt.Int32):
    assert n >= 0, "negative"
    return n

f(3)
"""


class StaticRequiredError(TriptychError, TypeError):
    """A run-time value where Python needs the value while the program is being traced."""

    code = "TT0207"
    failing = """
@tt.jit
def f(n: tt.Int32):
    total = 0
    for i in tt.range_constexpr(n):
        total += i
    return total

f(3)
"""
    fixed = """
@tt.jit
def f(n: tt.Constexpr):
    total = 0
    for i in tt.range_constexpr(n):
        total += i
    return total

f(3)
"""


class LeakedValueError(TriptychError, RuntimeError):
    """A run-time value is used outside the branch, loop or trace that computes it."""

    code = "TT0208"
    failing = """
box = []

@tt.jit
def f(n: tt.Int32):
    return n + box[0]

@tt.jit
def g(n: tt.Int32):
    box.append(n)
    return n

g(1)
f(2)
"""
    fixed = """
@tt.jit
def f(n: tt.Int32, boxed: tt.Int32):
    return n + boxed

f(3, 3)
"""


class EndlessInliningError(TriptychError, RecursionError):
    """A function calls itself under a run-time condition, so inlining it has no end."""

    code = "TT0209"
    failing = """
@tt.jit
def factorial(n: tt.Int32):
    return n * factorial(n - 1) if n > 1 else 1

factorial(3)
"""
    fixed = """
@tt.jit
def factorial(n: tt.Int32):
    product = 1
    for i in range(2, n + 1):
        product *= i
    return product

factorial(3)
"""


class TraceTimeEffectError(TriptychError, NotImplementedError):
    """A call whose effect would happen once, while tracing, where the program would have it when it runs."""

    code = "TT0210"
    failing = """
import warnings

@tt.jit
def f(n: tt.Int32):
    if n < 0:
        warnings.warn("negative")
    return n

f(3)
"""
    fixed = """
@tt.jit
def f(n: tt.Int32):
    if n < 0:
        tt.printf("negative")
    return n

f(3)
"""


class OperandTypeError(TriptychError, TypeError):
    """An operator or conversion that the operand types do not have."""

    code = "TT0301"
    failing = """
@tt.jit
def f(x: tt.Float32):
    return x << 2

f(1.5)
"""
    fixed = """
@tt.jit
def f(x: tt.Float32):
    return x.to(tt.Int32) << 2

f(1.5)
"""


class LiteralRangeError(TriptychError, OverflowError):
    """A Python number that does not fit the type it has to take."""

    code = "TT0302"
    failing = """
@tt.jit
def f(x: tt.Int8):
    return x + 300

f(1)
"""
    fixed = """
@tt.jit
def f(x: tt.Int8):
    return x.to(tt.Int32) + 300

f(1)
"""


class PrintFormatError(TriptychError, ValueError):
    """A `printf` format that does not match its arguments."""

    code = "TT0303"
    failing = """
@tt.jit
def f(x: tt.Float32):
    tt.printf("%d", x)

f(1.5)
"""
    fixed = """
@tt.jit
def f(x: tt.Float32):
    tt.printf("%f", x)

f(1.5)
"""


class LongTraceError(TriptychError, RuntimeError):
    """A program becomes too long while it is traced, most often by a loop that is unrolled."""

    code = "TT0219"
    failing = """
from triptych.support.config import override

@tt.jit
def f(x: tt.Int32):
    for i in tt.range_constexpr(10_000_000):
        x = x * 3 + i
    return x

with override(trace_limit=10_000):  # a million, if nothing else is said
    f(1)
"""
    fixed = """
@tt.jit
def f(x: tt.Int32):
    for i in range(10_000_000):
        x = x * 3 + i
    return x

f(1)
"""


class BlockError(TriptychError, TypeError):
    """A `with` block that runs as often as the program decides is written where, or as, the compiler cannot follow."""

    code = "TT0211"
    failing = """
import contextlib
import numpy as np
from triptych import cute

@tt.kernel
def k(x: cute.Tensor):
    with cute.arch.elect_one(), contextlib.nullcontext():
        x[0] = 1

@tt.jit
def f(x: cute.Tensor):
    k(x).launch(grid=1, block=32)

f(np.zeros(1, np.int32))
"""
    fixed = """
import contextlib
import numpy as np
from triptych import cute

@tt.kernel
def k(x: cute.Tensor):
    with cute.arch.elect_one():
        with contextlib.nullcontext():
            x[0] = 1

@tt.jit
def f(x: cute.Tensor):
    k(x).launch(grid=1, block=32)

f(np.zeros(1, np.int32))
"""
