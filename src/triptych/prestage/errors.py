"""Errors of the pre-stage: syntax that it refuses, each with its replacement."""

from __future__ import annotations

from triptych.support.errors import TriptychError


class UnsupportedSyntaxError(TriptychError, NotImplementedError):
    """A Python construct that has no meaning in compiled code."""

    code = "TT0101"
    failing = """
@tt.jit
def f(x: tt.Int32):
    try:
        return x // 2
    except ZeroDivisionError:
        return 0

f(3)
"""
    fixed = """
@tt.jit
def f(x: tt.Int32, d: tt.Int32):
    return x // d if d != 0 else 0

f(3, 3)
"""


class NoSourceError(TriptychError, OSError):
    """The function's source text cannot be found, so it cannot be rewritten."""

    code = "TT0102"
    failing = """
exec("def f(x): return x + 1")
g = tt.jit(f)
g(1)
"""
    fixed = """
# save the function in a .py file or a notebook cell, or only trace it:
exec("def f(x): return x + 1")
g = tt.jit(preprocessor=False)(f)
g(1)
"""


class SourceChangedError(NoSourceError):
    """The function's file was edited after it was imported, so its text says something else than the code that runs."""

    code = "TT0103"
    failing = """
import pathlib, sys, tempfile

folder = tempfile.mkdtemp()
sys.path.insert(0, folder)
file = pathlib.Path(folder, "scaling.py")
file.write_text("def scaled(x): return 2 * x")
import scaling

file.write_text("def scaled(x): return 30 * x")

tt.jit(scaling.scaled)(1)
"""
    fixed = """
import importlib, pathlib, sys, tempfile

folder = tempfile.mkdtemp()
sys.path.insert(0, folder)
file = pathlib.Path(folder, "scaling.py")
file.write_text("def scaled(x): return 2 * x")
import scaling

file.write_text("def scaled(x): return 30 * x")
importlib.reload(scaling)

tt.jit(scaling.scaled)(1)
"""
