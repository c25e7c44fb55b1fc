"""Errors of requests to the object-stage: a target, an option or a view of code that does not exist."""

from __future__ import annotations

from triptych.support.errors import TriptychError


class UnknownTargetError(TriptychError, ValueError):
    """No target of that name is built in or installed."""

    code = "TT0504"
    failing = """
@tt.jit
def f(x: tt.Int32):
    return x

tt.compile(f, 1, target="cpuu")
"""
    fixed = """
@tt.jit
def f(x: tt.Int32):
    return x

tt.compile(f, 1, target="cpu")
"""


class UnknownOptionError(TriptychError, ValueError):
    """A compile option has an unknown name or a value outside its range."""

    code = "TT0505"
    failing = """
@tt.jit
def f(x: tt.Int32):
    return x

tt.compile(f, 1, opt_level=4)
"""
    fixed = """
@tt.jit
def f(x: tt.Int32):
    return x

tt.compile(f, 1, opt_level=3)
"""


class MissingViewError(TriptychError, AttributeError):
    """A compiled function was asked for a form that its target does not have, as PTX of code for the CPU."""

    code = "TT0507"
    failing = """
@tt.jit
def f(x: tt.Int32):
    return x

tt.compile(f, 1, target="cpu").__ptx__
"""
    fixed = """
@tt.jit
def f(x: tt.Int32):
    return x

tt.compile(f, 1, target="cpu").asm
"""


class CompiledFunctionPickleError(TriptychError, TypeError):
    """A compiled function was pickled, as for another process: its machine code stays where it is."""

    code = "TT0652"
    failing = """
import pickle

@tt.jit
def f(x: tt.Int32):
    return x

pickle.dumps(tt.compile(f, 1))
"""
    fixed = """
import pickle

@tt.jit
def f(x: tt.Int32):
    return x

tt.compile(f, 1)
pickle.dumps(f)
"""
