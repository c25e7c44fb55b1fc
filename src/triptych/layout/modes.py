"""Modes: questions and rearrangements for tuples, tiles, layouts and composed layouts alike.

Input: any of them. Output: sizes and shapes, or the same kind of value with its modes chosen or grouped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from triptych.layout.composed import AnyLayout, ComposedLayout
from triptych.layout.coordinates import evaluate, index_to_coord
from triptych.layout.errors import ProfileError
from triptych.layout.integers import HasWidth, Int, is_one
from triptych.layout.layout import Layout, compact_index, from_modes, trusted
from triptych.layout.tuples import (
    Coord,
    IntTuple,
    Shape,
    Stride,
    at,
    congruent,
    depth_of,
    flat,
    group,
    modes_of,
    product,
    rank_of,
    transform_leaf,
    weakly_congruent,
)

Mode = Sequence[int] | int | None


def shape(value: object, mode: Mode = None) -> Any:
    """The shape of a value, or of one of its modes."""
    if isinstance(value, Layout | ComposedLayout):
        value = value.shape
    elif isinstance(value, tuple):
        value = transform_leaf(lambda leaf: shape(leaf) if isinstance(leaf, Layout) else leaf, value)
    return at(value, _path(mode))


def stride(layout: Layout, mode: Mode = None) -> Stride:
    """The stride of a layout, or of one of its modes."""
    found: Stride = at(layout.stride, _path(mode))
    return found


def size(value: object, mode: Mode = None) -> Int:
    """The number of coordinates."""
    return product(shape(value, mode))


def cosize(layout: AnyLayout, mode: Mode = None) -> Int:
    """One more than the largest index; of a composed layout, than the largest its inner function is given."""
    source = get(layout.outer if isinstance(layout, ComposedLayout) else layout, mode)
    last = transform_leaf(lambda extent: extent - 1, source.shape)
    image = evaluate(last, source.shape, _absolute(source.stride))
    return product(transform_leaf(lambda leaf: leaf + 1, image))


def _absolute(step: Stride) -> Stride:
    if isinstance(step, tuple):
        return tuple(map(_absolute, step))
    return abs(step) if isinstance(step, int) else step


def rank(value: object, mode: Mode = None) -> int:
    """The number of modes; 1 for an integer."""
    return rank_of(shape(value, mode))


def depth(value: object) -> int:
    """The depth of nesting; 0 for an integer."""
    return depth_of(shape(value))


def is_congruent(a: object, b: object) -> bool:
    """Whether two values nest in the same way."""
    return congruent(shape(a), shape(b))


def is_weakly_congruent(a: object, b: object) -> bool:
    """Whether b nests like a or finer."""
    return weakly_congruent(shape(a), shape(b))


def leading_dim(shape: Shape, stride: Stride) -> int | tuple[int, ...] | None:
    """The mode with stride 1 that is longer than 1: its number, or its path inside a nested shape."""
    for path, extent, step in _leaf_paths(shape, stride, ()):
        if isinstance(step, int) and step == 1 and not is_one(extent):
            return path[0] if len(path) == 1 else path
    return None


# Any: congruent with the shape.
def _leaf_paths(shape: Shape, stride: Any, path: tuple[int, ...]) -> list[tuple[tuple[int, ...], Any, Any]]:
    if not isinstance(shape, tuple):
        return [(path or (0,), shape, stride)]
    parts = enumerate(zip(shape, stride, strict=True))
    return [found for step, (extent, inner) in parts for found in _leaf_paths(extent, inner, (*path, step))]


def size_in_bytes(dtype: HasWidth, layout: IntTuple | AnyLayout) -> Int:
    """The bytes a layout spans in elements of a type that has a `width` in bits."""
    extent = cosize(layout) if isinstance(layout, Layout | ComposedLayout) else product(layout)
    count: Int = (extent * dtype.width + 7) // 8
    return count


def get(value: object, mode: Mode = None) -> Any:
    """The part of a value at a path of modes; no path is the value itself."""
    path = _path(mode)
    if isinstance(value, ComposedLayout):
        return value.with_outer(get(value.outer, path))
    if isinstance(value, Layout):
        return trusted(at(value.shape, path), at(value.stride, path)) if path else value
    return at(value, path)


def select(value: object, mode: Sequence[int]) -> Any:
    """The chosen top-level modes, in the order given."""
    if isinstance(value, ComposedLayout):
        return value.with_outer(select(value.outer, mode))
    if isinstance(value, Layout):
        return trusted(select(value.shape, mode), select(value.stride, mode))
    return tuple(at(value, (step,)) for step in mode)


def group_modes(value: object, begin: int, end: int = -1) -> Any:
    """The modes [begin, end) bracketed into one; -1 means to the end."""
    if isinstance(value, ComposedLayout):
        return value.with_outer(group_modes(value.outer, begin, end))
    if isinstance(value, Layout):
        return trusted(group(value.shape, begin, end), group(value.stride, begin, end))
    return group(value, begin, end)


def flatten(value: object) -> Any:
    """One mode per leaf; an integer stays an integer."""
    if isinstance(value, ComposedLayout):
        return value.with_outer(flatten(value.outer))
    if isinstance(value, Layout):
        return trusted(flatten(value.shape), flatten(value.stride))
    return flat(value) if isinstance(value, tuple) else value


def append(value: object, elem: object, up_to_rank: int | None = None) -> Any:
    """The value with a mode after its own, once or until it has a rank."""
    return _extend(value, elem, up_to_rank, lambda old, new: (*old, *new))


def prepend(value: object, elem: object, up_to_rank: int | None = None) -> Any:
    """The value with a mode before its own, once or until it has a rank."""
    return _extend(value, elem, up_to_rank, lambda old, new: (*new, *old))


def append_ones(value: object, up_to_rank: int | None = None) -> Any:
    """The value with trivial modes after its own."""
    return append(value, trusted(1, 0) if isinstance(value, Layout | ComposedLayout) else 1, up_to_rank)


def prepend_ones(value: object, up_to_rank: int | None = None) -> Any:
    """The value with trivial modes before its own."""
    return prepend(value, trusted(1, 0) if isinstance(value, Layout | ComposedLayout) else 1, up_to_rank)


def _extend(
    value: object,
    elem: object,
    up_to_rank: int | None,
    join: Callable[[tuple[Any, ...], tuple[Any, ...]], tuple[Any, ...]],
) -> Any:
    if isinstance(value, ComposedLayout):
        return value.with_outer(_extend(value.outer, elem, up_to_rank, join))
    count = 1 if up_to_rank is None else up_to_rank - rank(value)
    if count < 0:
        raise ProfileError("the value already has more modes", found=f"{rank(value)}, wanted {up_to_rank}")
    if isinstance(value, Layout):
        return from_modes(join(tuple(value), (elem,) * count)) if count else value
    return join(modes_of(value), (elem,) * count) if count else value


def repeat(value: object, n: int) -> Any:
    """n copies as a tuple; one copy is the value itself."""
    return value if n == 1 else (value,) * n


def repeat_like(value: object, target: object) -> Any:
    """The value at every leaf of a target."""
    if isinstance(target, Layout | ComposedLayout):
        target = target.shape
    return tuple(repeat_like(value, item) for item in target) if isinstance(target, tuple) else value


def crd2idx(coord: Coord, target: Shape | AnyLayout) -> IntTuple:
    """The index of a coordinate in a layout, or its colexicographic number in a shape; None counts as 0."""
    if isinstance(target, ComposedLayout):
        return target.from_outer(crd2idx(coord, target.outer))
    if isinstance(target, Layout):
        return evaluate(coord, target.shape, target.stride)
    return compact_index(coord, target)


def idx2crd(index: Coord, shape: Shape) -> Any:
    """The coordinate of a colexicographic number, nested like the shape."""
    return index_to_coord(index, shape)


def get_hier_coord(layout: Layout, index: Int) -> IntTuple:
    """The coordinate, nested like the shape, that a compact layout sends to an index."""
    return layout.get_hier_coord(index)


def get_flat_coord(layout: Layout, index: Int) -> IntTuple:
    """The coordinate with one integer per mode that a compact layout sends to an index."""
    return layout.get_flat_coord(index)


def increment_coord(coord: Coord, target: Shape | AnyLayout) -> Any:
    """The coordinate after this one; the last mode does not wrap."""
    extents = target.shape if isinstance(target, Layout | ComposedLayout) else target
    full = index_to_coord(coord, extents)
    counts = list(zip(flat(full), flat(extents), strict=True))
    result: list[Int] = []
    carry: Int = 1
    for count, extent in counts[:-1]:
        result.append((count + carry) % extent)
        carry = (count + carry) // extent
    result.append(counts[-1][0] + carry)
    values = iter(result)
    return transform_leaf(lambda _: next(values), full)


def _path(mode: Mode) -> tuple[int, ...]:
    return () if mode is None else (mode,) if isinstance(mode, int) else tuple(mode)
