"""Inverses of layouts, what two layouts have in common, and what a layout sends to zero.

Input: one or two layouts. Output: layouts from indices back to integer coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from triptych.layout.basis import ScaledBasis
from triptych.layout.coalescing import Leaf, coalesce, leaf_pairs, merged
from triptych.layout.compose import composition
from triptych.layout.coordinates import coordinate_profile, fill, paths_of
from triptych.layout.errors import OverlapError, UndecidableError
from triptych.layout.integers import Int, is_one, require
from triptych.layout.layout import Layout, from_leaves, from_modes, modes, trusted

Place = tuple[Int, Int, Int]
"""The extent and stride of a mode, and the integer coordinate of its first step."""


def right_inverse(layout: Layout) -> Layout:
    """R with layout(R(i)) == i for every i below its size: the longest one that can be proven.

    A dynamic stride takes part when it provably continues the modes before it; it is left out otherwise,
    which makes the inverse shorter, never wrong.
    """
    return _per_basis(layout, _right)


def left_inverse(layout: Layout) -> Layout:
    """L with L(layout(i)) == i, for an injective layout; for others the same rule gives a canonical result."""
    return _per_basis(layout, _left)


def _per_basis(layout: Layout, invert: Callable[[list[Place]], list[Leaf]]) -> Layout:
    """Every coordinate that basis strides produce is inverted by itself."""
    places = _places(layout)
    profile = coordinate_profile(layout.stride)
    if profile is None:
        return from_leaves(invert([(extent, step, start) for extent, step, start in places]))
    parts = {
        path: from_leaves(
            invert(
                [
                    (extent, step.scale, start)
                    for extent, step, start in places
                    if isinstance(step, ScaledBasis) and step.mode == path
                ]
            )
        )
        for path in paths_of(profile)
    }
    return _join(fill(profile, parts))


def _join(value: Layout | tuple[Any, ...]) -> Layout:
    return from_modes(map(_join, value)) if isinstance(value, tuple) else value


def _places(layout: Layout) -> list[tuple[Int, Any, Int]]:
    """Coalesced modes that move, each with the integer coordinate of its first step."""
    places: list[tuple[Int, Any, Int]] = []
    start: Int = 1
    for extent, step in merged(leaf_pairs(layout)):
        if not is_one(extent) and not (isinstance(step, int) and step == 0):
            places.append((extent, step, start))
        start = start * extent
    return places


def _right(places: list[Place]) -> list[Leaf]:
    """Follow the strides 1, s0, s0*s1 …; equal values are equal keys, also for symbolic integers."""
    by_stride: dict[Int, Place] = {}
    for place in places:
        by_stride.setdefault(place[1], place)
    result: list[Leaf] = []
    reached: Int = 1
    while reached in by_stride:
        extent, step, start = by_stride.pop(reached)
        result.append((extent, start))
        reached = extent * step
    return merged(result) or [(1, 0)]


def _left(places: list[Place]) -> list[Leaf]:
    """Between two strides lie the indices the first mode may reach; they lead back to its coordinate."""
    result: list[Leaf] = []
    covered: Int = 1
    before: Int = 0
    last: Int = 1
    dynamic = not all(isinstance(extent, int) for extent, _, _ in places)
    for extent, step, start in _sorted(places):
        statement = f"a stride that is a multiple of {covered}"
        require(step % covered, "left_inverse", statement, f"{extent}:{step}", OverlapError)
        if dynamic:
            # A static overlap gives the canonical result; one that depends on a dynamic extent must be said.
            reach = (last - 1) * covered
            require(reach // step, "left_inverse", "modes that do not overlap", f"{last}:{covered}", OverlapError)
        result.append((step // covered, before))
        covered, before, last = step, start, extent
    return merged([*result, (last, before)])


def _sorted(places: list[Place]) -> list[Place]:
    if all(isinstance(step, int) for _, step, _ in places):
        if any(isinstance(step, int) and step < 0 for _, step, _ in places):
            raise OverlapError("left_inverse needs strides that are not negative", found=str(places))
        return sorted(places, key=lambda place: place[1])
    by_stride = {place[1]: place for place in places}
    ordered: list[Place] = []
    reached: Int = 1
    while reached in by_stride:
        place = by_stride.pop(reached)
        ordered.append(place)
        reached = place[0] * place[1]
    if len(ordered) < len(places):
        raise UndecidableError(
            "left_inverse cannot order dynamic strides",
            found=", ".join(f"{extent}:{step}" for extent, step, _ in places),
            expected="static strides, or strides that provably continue each other",
        )
    return ordered


def nullspace(layout: Layout) -> Layout:
    """N with layout(N(i)) == 0: the modes with stride 0, as integer coordinates."""
    result: list[Leaf] = []
    start: Int = 1
    for extent, step in merged(leaf_pairs(layout)):
        if isinstance(step, int) and step == 0 and not is_one(extent):
            result.append((extent, start))
        start = start * extent
    return from_leaves(merged(result) or [(1, 0)])


def max_common_layout(a: Layout, b: Layout) -> Layout:
    """R with a(R(i)) == b(R(i)) == i: the longest run of coordinates both layouts number alike."""
    inverse = right_inverse(b)
    length = _common_length(a, inverse)
    return trusted(1, 0) if length == 1 else composition(inverse, trusted(length, 1))


def max_common_vector(a: Layout, b: Layout) -> int:
    """The number of elements that can be moved at once between two layouts."""
    return _common_length(a, right_inverse(b))


def _common_length(a: Layout, inverse: Layout) -> int:
    first = modes(coalesce(composition(a, inverse)))[0]
    one_by_one = isinstance(first.stride, int) and first.stride == 1
    return first.shape if isinstance(first.shape, int) and one_by_one else 1
