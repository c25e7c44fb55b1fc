"""How many neighbours in memory may be moved at once: shape and stride in, a number of elements out."""

from __future__ import annotations

import math

from triptych.layout.integers import Int, divisibility, is_one, known_equal
from triptych.layout.tuples import Shape, Stride, leaves


def max_alignment(shape: Shape, stride: Stride) -> int:
    """The largest N such that all indices come in groups of N neighbours, each beginning at a multiple of N.

    Unknown integers count with what is known to divide them.
    """
    rest = [
        (extent, step)
        for extent, step in zip(leaves(shape), leaves(stride), strict=True)
        if not is_one(extent) and not known_equal(step, 0)
    ]
    run: Int = 1
    while following := next((leaf for leaf in rest if known_equal(leaf[1], run)), None):
        rest.remove(following)
        run = run * following[0]
    return math.gcd(divisibility(run), *(divisibility(step) for _, step in rest))
