"""Inverses and complements of layouts, what two layouts have in common, and what a layout sends to zero.

The complement of A in a size is A*, ordered and disjoint from A, so that (A, A*) covers the size: sorted by stride,
each mode of A begins where the modes before it end, and the gap in front of it is a mode of A*.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from triptych.layout.basis import ScaledBasis
from triptych.layout.coalescing import Leaf, coalesce, leaf_pairs, merged
from triptych.layout.compose import composition
from triptych.layout.composed import ComposedLayout, L, on_outer
from triptych.layout.coordinates import coordinate_profile, fill, paths_of
from triptych.layout.errors import OverlapError, ProfileError, UndecidableError
from triptych.layout.integers import Int, divide_up, is_one, minimum, require
from triptych.layout.layout import Layout, from_leaves, from_modes, modes, trusted
from triptych.layout.tuples import IntTuple, at, leaves, modes_of, product, tuple_ceil_div, tuple_text

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


_OPERATION = "complement"


def complement(layout: L, cotarget: IntTuple | Layout | None = None) -> L:
    """What fills the gaps of a layout up to `cotarget`; without one, the gaps and one step over the whole."""
    size = cotarget.shape if isinstance(cotarget, Layout | ComposedLayout) else cotarget
    return on_outer(layout, lambda outer: complement_in(outer, size))


def complement_in(layout: Layout, cotarget: IntTuple | None, *, join_dynamic: bool = True) -> Layout:
    """The complement of a plain layout; `join_dynamic` makes one mode of neighbouring dynamic extents."""
    pairs = leaf_pairs(layout)
    for _, step in pairs:
        if isinstance(step, ScaledBasis):
            return _complement_of_coordinates(layout, pairs, cotarget)
    return from_leaves(_fill(pairs, None if cotarget is None else _joined(cotarget, join_dynamic)))


def _complement_of_coordinates(layout: Layout, pairs: list[Leaf], cotarget: IntTuple | None) -> Layout:
    """Basis strides: every place of the coordinate is filled by itself."""
    profile = coordinate_profile(layout.stride)
    if cotarget is None:
        parts = {path: from_leaves(_fill_along(pairs, path, None)) for path in paths_of(profile)}
        return _nested(profile, parts)
    paths = paths_of(_widened(profile, cotarget))
    filled = [leaf for path in paths for leaf in _fill_along(pairs, path, product(at(cotarget, path)))]
    return from_leaves(merged(filled))


def _joined(cotarget: IntTuple, join_dynamic: bool) -> IntTuple:
    """Neighbouring extents of one kind are one extent."""
    whole = product(cotarget)
    if isinstance(whole, int) or not isinstance(cotarget, tuple):
        return whole
    joined: list[Int] = []
    before = None
    for extent in leaves(cotarget):
        static = isinstance(extent, int)
        if static == before and (static or join_dynamic):
            joined[-1] = joined[-1] * extent
        else:
            joined.append(extent)
        before = static
    return joined[0] if len(joined) == 1 else tuple(joined)


def _fill(pairs: list[Leaf], cotarget: IntTuple | None) -> list[Leaf]:
    result: list[Leaf] = []
    covered: Int = 1
    for extent, step in _by_stride(pairs):
        gap = step // covered
        if not isinstance(gap, int) or gap < 1:
            found = f"{extent}:{step} after {covered} indices"
            require(minimum(gap, 1) - 1, _OPERATION, "modes that do not overlap", found, OverlapError)
        if not is_one(gap):
            result.append((gap, covered))
        covered = step * extent
    if cotarget is None:
        result.append((1, covered))
        return result
    for extent in _tiles(cotarget, covered):
        if not is_one(extent):
            result = _append(result, extent, covered)
            covered = covered * extent
    return result or [(1, covered)]


def _tiles(cotarget: IntTuple, covered: Int) -> list[Int]:
    """How many times what is covered fits, extent by extent unless the product rounds up less."""
    whole = divide_up(product(cotarget), covered)
    if not isinstance(cotarget, tuple) or not _splits(cotarget, covered):
        return [whole]
    parts = leaves(tuple_ceil_div(cotarget, covered))
    statement = f"extents {tuple_text(cotarget)} that {covered} divides one after the other"
    require(product(tuple(parts)) - whole, _OPERATION, statement, f"{covered} indices are covered")
    return parts


def _splits(cotarget: tuple[IntTuple, ...], covered: Int) -> bool:
    """Whether dividing extent by extent rounds up no more than dividing the product does."""
    for extent in leaves(cotarget):
        if not isinstance(extent, int) or not isinstance(covered, int):
            return True
        if extent % covered and covered % extent:
            return False
        covered = max(covered // extent, 1)
    return True


def _fill_along(pairs: list[Leaf], path: tuple[int, ...], cotarget: IntTuple | None) -> list[Leaf]:
    """The complement of the modes that move along one place of a coordinate."""
    along: list[Leaf] = [
        (extent, step.scale) for extent, step in pairs if isinstance(step, ScaledBasis) and step.mode == path
    ]
    unit = ScaledBasis(1, path)
    return [(extent, unit * scale) for extent, scale in _fill(along, cotarget)]  # type: ignore[operator]


def _append(pairs: list[Leaf], extent: Int, step: Int) -> list[Leaf]:
    """Static extents that continue each other are one mode; a gap is never continued."""
    if pairs and isinstance(extent, int) and isinstance(step, int):
        before, before_step = pairs[-1]
        if isinstance(before, int) and before * before_step == step:
            return [*pairs[:-1], (before * extent, before_step)]
    return [*pairs, (extent, step)]


def _by_stride(pairs: list[Leaf]) -> list[tuple[Int, Int]]:
    """Modes that move, static strides in order, dynamic ones after them; that they come after is required."""
    static: list[tuple[int, Int]] = []
    dynamic: list[tuple[Int, Int]] = []
    for extent, step in pairs:
        if isinstance(step, int):
            if step != 0 and not is_one(extent):
                static.append((step, extent))
        elif not is_one(extent):
            dynamic.append((extent, step))  # type: ignore[arg-type]  # basis strides went to _fill_along
    static.sort(key=itemgetter(0))
    return [(extent, step) for step, extent in static] + dynamic


def _widened(profile: object, cotarget: IntTuple) -> Any:
    """The coordinates to fill include the modes of the cotarget that the layout never moves along."""
    if not isinstance(profile, tuple):
        return None
    extents = modes_of(cotarget)
    if len(profile) > len(extents):
        raise ProfileError("a basis stride points outside the cotarget", found=f"cotarget {cotarget}")
    kept = tuple(_widened(part, extent) for part, extent in zip(profile, extents, strict=False))
    return kept + (None,) * (len(extents) - len(profile))


def _nested(profile: object, parts: dict[tuple[int, ...], Layout]) -> Layout:
    def join(value: Layout | tuple[Any, ...]) -> Layout:
        return from_modes(map(join, value)) if isinstance(value, tuple) else value

    return join(fill(profile, parts))
