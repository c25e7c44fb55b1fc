"""Recast of a layout: the same memory seen in elements of another size.

Input: a layout in elements of one size in bits. Output: the layout in elements of another.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from triptych.layout.basis import ScaledBasis
from triptych.layout.coalescing import leaf_pairs
from triptych.layout.composed import ComposedLayout, L
from triptych.layout.errors import OverlapError, ProfileError
from triptych.layout.integers import Int, is_one, minimum, require
from triptych.layout.layout import Layout, from_modes, trusted
from triptych.layout.swizzle import Swizzle, recast_swizzle
from triptych.layout.tuples import Shape, Stride, shape_div, transform_leaf, tuple_mul

_OPERATION = "recast_layout"


def recast_layout(new_type_bits: int, old_type_bits: int, src_layout: L) -> L:
    """Fewer, larger elements along the stride-1 mode, or more and smaller ones."""
    common = math.gcd(new_type_bits, old_type_bits)
    grow, shrink = new_type_bits // common, old_type_bits // common
    if isinstance(src_layout, ComposedLayout):
        inner = src_layout.known_inner
        return ComposedLayout(
            recast_swizzle(inner, new_type_bits, old_type_bits)
            if isinstance(inner, Swizzle)
            else recast_layout(new_type_bits, old_type_bits, inner),
            transform_leaf(lambda leaf: _divided(leaf, grow) * shrink, src_layout.offset),
            recast_layout(new_type_bits, old_type_bits, src_layout.outer),
        )
    return _downcast(_upcast(src_layout, grow), shrink)


def _upcast(layout: Layout, factor: int) -> Layout:
    return layout if factor == 1 else _by_leaf(_upcast_leaf, layout.shape, layout.stride, factor)


def _downcast(layout: Layout, factor: int) -> Layout:
    if factor == 1:
        return layout
    leaves = leaf_pairs(layout)
    touching = [place for place, (_, step) in enumerate(leaves) if isinstance(step, int) and abs(step) == 1]
    # A mode of extent 1 is never stepped along: it takes the new elements only when no other mode can.
    growing, *others = [place for place in touching if not is_one(leaves[place][0])] or touching[:1] or [-1]
    for place in others:
        statement = "at most one mode of stride 1"
        require(leaves[place][0] - 1, _OPERATION, statement, str(layout), OverlapError)
    places = iter(range(len(leaves)))
    return _by_leaf(
        lambda extent, step, by: _downcast_leaf(extent, step, by, next(places) == growing),
        layout.shape,
        layout.stride,
        factor,
    )


def _upcast_leaf(extent: Int, step: Int, factor: int) -> Layout:
    if not isinstance(step, int):
        return trusted(extent, _divided(step, factor))
    if step == 0:
        return trusted(extent, 0)
    size = shape_div(abs(step), factor)
    return trusted(shape_div(extent, shape_div(factor, abs(step))), size if step > 0 else tuple_mul(size, -1))


def _downcast_leaf(extent: Int, step: Int, factor: int, grows: bool) -> Layout:
    if grows:
        return trusted(extent * factor, step)
    if not isinstance(step, int):
        require(minimum(step, 2) - 2, _OPERATION, "a stride other than 1", f"stride {step}")
    return trusted(extent, step * factor)


def _divided(value: Int, factor: int) -> Int:
    require(value % factor, _OPERATION, f"a multiple of {factor}", str(value))
    return value // factor


def _by_leaf(recast: Callable[[Int, Int, int], Layout], shape: Shape, stride: Stride, factor: int) -> Layout:
    if isinstance(shape, tuple) and isinstance(stride, tuple):
        return from_modes(_by_leaf(recast, extent, step, factor) for extent, step in zip(shape, stride, strict=True))
    if isinstance(shape, tuple) or isinstance(stride, tuple | ScaledBasis):
        raise ProfileError("a coordinate has no element size", found=f"stride {stride}")
    return recast(shape, stride, factor)
