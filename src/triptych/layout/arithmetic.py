"""Arithmetic on nested tuples, leaf by leaf.

Input: two nested tuples of integers. Output: a third one.
Modes that only one side has pass through unchanged, so a tile may be shorter than what it tiles.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from triptych.layout.errors import ProfileError
from triptych.layout.integers import Int, divide_up, require
from triptych.layout.tuples import IntTuple, product


def tuple_add(a: IntTuple, b: IntTuple) -> IntTuple:
    """The sum; the number 0 adds nothing to any tuple."""
    if isinstance(a, int) and a == 0:
        return b
    return a if isinstance(b, int) and b == 0 else _leafwise(operator.add, a, b)


def tuple_sub(a: IntTuple, b: IntTuple) -> IntTuple:
    """The difference; modes only one side has pass through."""
    return a if isinstance(b, int) and b == 0 else _leafwise(operator.sub, a, b)


def tuple_mul(a: IntTuple, b: IntTuple) -> IntTuple:
    """The product, leaf by leaf."""
    return _leafwise(operator.mul, a, b)


def _leafwise(function: Callable[[Int, Int], Int], a: IntTuple, b: IntTuple) -> IntTuple:
    if isinstance(a, tuple) and isinstance(b, tuple):
        shared = min(len(a), len(b))
        paired = tuple(_leafwise(function, x, y) for x, y in zip(a[:shared], b[:shared], strict=True))
        return paired + a[shared:] + b[shared:]
    if isinstance(a, tuple) or isinstance(b, tuple):
        raise ProfileError("an integer and a tuple do not combine", found=f"{a} and {b}")
    return function(a, b)


def tuple_ceil_div(a: IntTuple, b: IntTuple) -> IntTuple:
    """How many tiles b cover a; one number divides the modes of a tuple from the left, each taking its part."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        if len(b) > len(a):
            raise ProfileError("the tile has more modes than the shape", found=f"shape {a}, tile {b}")
        return tuple(map(tuple_ceil_div, a, b)) + a[len(b) :]
    if isinstance(a, tuple):
        return _spread(tuple_ceil_div, a, b)
    return divide_up(a, product(b))


def shape_div(a: IntTuple, b: IntTuple) -> IntTuple:
    """The factor of a that b leaves; at every leaf one must divide the other."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        if len(a) != len(b):
            raise ProfileError("the two shapes have different ranks", found=f"{a} and {b}")
        return tuple(map(shape_div, a, b))
    if isinstance(a, tuple):
        return _spread(shape_div, a, b)
    divisor = product(b)
    require((a % divisor) * (divisor % a), "shape_div", "that one integer divides the other", f"{a} and {divisor}")
    return divide_up(a, divisor)


def _spread(divide: Callable[[IntTuple, IntTuple], IntTuple], a: tuple[IntTuple, ...], b: IntTuple) -> IntTuple:
    result: list[IntTuple] = []
    for item in a:
        result.append(divide(item, b))
        b = divide(b, product(item))
    return tuple(result)


def round_up(a: IntTuple, b: IntTuple) -> IntTuple:
    """The next multiple of b, leaf by leaf."""
    return _leafwise(lambda x, y: divide_up(x, y) * y, a, b)


def elem_less(a: IntTuple, b: IntTuple) -> bool:
    """Whether every leaf of a is less than the leaf of b at the same place."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        if len(a) != len(b):
            raise ProfileError("the tuples are not congruent", found=f"{a} and {b}")
        result = True
        for x, y in zip(a, b, strict=True):
            result = result & elem_less(x, y)
        return result
    if isinstance(a, tuple) or isinstance(b, tuple):
        raise ProfileError("the tuples are not congruent", found=f"{a} and {b}")
    return a < b
