"""Nested tuples of integers (shapes, strides, coordinates) and arithmetic on them, leaf by leaf.

An integer counts as one mode, so that `4` and `(4,)` walk alike; only printing tells them apart. In arithmetic, modes
that only one side has pass through unchanged, so a tile may be shorter than what it tiles.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

from triptych.layout.basis import Step
from triptych.layout.errors import ProfileError
from triptych.layout.integers import Int, divide_up, require

IntTuple: TypeAlias = "Int | tuple[IntTuple, ...]"
Shape: TypeAlias = IntTuple
Stride: TypeAlias = "Step | tuple[Stride, ...]"
Coord: TypeAlias = "Int | tuple[Coord, ...] | None"
Modes: TypeAlias = "tuple[Any, ...] | Any"
"""What a layout has one of for each mode, so that `layout.shape[0]` is one; an integer where it has no modes."""
Tile: TypeAlias = Any
"""A tiler: an integer, a layout, None for a whole mode, or a tuple of tilers."""

Nested: TypeAlias = Any
"""A leaf of any kind, or a tuple of such: the structural functions below do not look at the leaves."""


def modes_of(value: Nested) -> tuple[Nested, ...]:
    """The modes of a nested tuple; a leaf is its own only mode."""
    return value if isinstance(value, tuple) else (value,)


def leaves(value: Nested) -> list[Any]:
    """The leaves, left to right."""
    if not isinstance(value, tuple):
        return [value]
    found: list[Any] = []
    for item in value:
        if isinstance(item, tuple):
            found += leaves(item)
        else:
            found.append(item)
    return found


def flat(value: Nested) -> tuple[Any, ...]:
    """The leaves as a tuple."""
    return tuple(leaves(value))


def transform_leaf(function: Callable[..., Any], *values: Nested) -> Any:
    """Apply a function to the leaves that sit at the same place of congruent tuples."""
    if any(isinstance(value, tuple) for value in values):
        if not all(isinstance(value, tuple) and len(value) == len(values[0]) for value in values):
            raise ProfileError("the tuples are not congruent", found=", ".join(map(str, values)))
        return tuple(transform_leaf(function, *items) for items in zip(*values, strict=True))
    return function(*values)


def product(value: IntTuple) -> Int:
    """The product of all leaves; 1 for the empty tuple."""
    if not isinstance(value, tuple):
        return value
    total: Int = 1
    for item in value:
        total = total * product(item)
    return total


def product_each(value: IntTuple) -> tuple[Int, ...]:
    """The product of every mode."""
    return tuple(product(item) for item in modes_of(value))


def product_like(value: IntTuple, profile: Nested) -> IntTuple:
    """The products of a tuple at the leaves of a coarser one."""
    if not isinstance(profile, tuple):
        return product(value)
    if not isinstance(value, tuple) or len(value) != len(profile):
        raise ProfileError("the tuple does not refine the profile", found=f"{value} against {profile}")
    return tuple(product_like(item, part) for item, part in zip(value, profile, strict=True))


def rank_of(value: object) -> int:
    """The number of top-level modes."""
    return len(value) if isinstance(value, tuple) else 1


def depth_of(value: object) -> int:
    """The depth of nesting: 0 for an integer, 1 for a flat tuple."""
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, tuple) else 0


def congruent(a: object, b: object) -> bool:
    """Whether two tuples nest in the same way."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(congruent, a, b))
    return not isinstance(a, tuple) and not isinstance(b, tuple)


def weakly_congruent(a: object, b: object) -> bool:
    """Whether b nests like a, or deeper at the leaves of a."""
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(weakly_congruent, a, b))
    return True


def at(value: Nested, path: tuple[int, ...]) -> Nested:
    """The part of a nested tuple at a path of modes."""
    for step in path:
        items = modes_of(value)
        if not -len(items) <= step < len(items):
            raise ProfileError("there is no such mode", found=f"mode {step} of a tuple with {len(items)} modes")
        value = items[step]
    return value


def group(value: Nested, begin: int, end: int) -> tuple[Nested, ...]:
    """Bracket the modes [begin, end) into one mode."""
    items = modes_of(value)
    end = len(items) if end == -1 else end
    if not 0 <= begin <= end <= len(items):
        raise ProfileError("there is no such range of modes", found=f"[{begin},{end}) of {len(items)} modes")
    return (*items[:begin], items[begin:end], *items[end:])


def compact_stride(shape: IntTuple, start: Int = 1) -> IntTuple:
    """Strides that number a shape without gaps, first mode fastest; an extent of 1 is never stepped along: 0."""
    if isinstance(shape, tuple):
        strides = []
        for item in shape:
            strides.append(compact_stride(item, start))
            start = start * product(item)
        return tuple(strides)
    return 0 if isinstance(shape, int) and shape == 1 else start


def tuple_text(value: object) -> str:
    """A nested tuple in the notation: no spaces, `_` for a whole mode, `(4)` for a tuple of one."""
    if isinstance(value, tuple):
        return "(" + ",".join(map(tuple_text, value)) + ")"
    return "_" if value is None else str(value)


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
