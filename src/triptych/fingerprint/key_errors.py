"""Errors of cache keys: a value that cannot be told apart from another one across processes."""

from __future__ import annotations

from triptych.support.errors import TriptychError


class LargeArrayError(TriptychError, ValueError):
    """A program reads an array that is too large to be compared at each call, and that someone may write."""

    code = "TT0307"
    failing = """
import numpy as np

weights = np.zeros(1_000_000)

@tt.jit
def count(x: tt.Int32):
    return x + weights.shape[0]

count(1)
"""
    fixed = """
import numpy as np

weights = np.zeros(1_000_000)
weights.flags.writeable = False

@tt.jit
def count(x: tt.Int32):
    return x + weights.shape[0]

count(1)
"""


class UnstableConstexprError(TriptychError, TypeError):
    """A `Constexpr` value whose content cannot be read, so no key can say when it changed."""

    code = "TT0306"
    failing = """
import threading

@tt.jit
def scale(x: tt.Int32, config: tt.Constexpr):
    return x * 2

scale(1, threading.Lock())
"""
    fixed = """
from dataclasses import dataclass

@dataclass(frozen=True)
class Config:
    factor: int

@tt.jit
def scale(x: tt.Int32, config: tt.Constexpr):
    return x * config.factor

scale(1, Config(2))
"""
