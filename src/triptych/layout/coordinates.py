"""Coordinates of a layout: to indices and back.

Input: a coordinate or an index, a shape, a stride. Output: the other one.
Division and remainder are Python's, so the last mode of a layout runs on in both directions.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from triptych.layout.basis import ScaledBasis
from triptych.layout.errors import ProfileError
from triptych.layout.integers import Int
from triptych.layout.tuples import Coord, IntTuple, Shape, Stride, leaves, product, tuple_text


def has_underscore(coord: object) -> bool:
    """Whether a coordinate leaves some mode whole."""
    return any(leaf is None for leaf in leaves(coord))


def evaluate(coord: Coord, shape: Shape, stride: Stride) -> IntTuple:
    """The inner product of a coordinate and a stride; a whole mode (None) counts as its beginning."""
    return _coordinate_image(coord, shape, stride) if has_basis(stride) else _index(coord, shape, stride)


def has_basis(stride: Stride) -> bool:
    """Whether a stride leads into coordinates."""
    if not isinstance(stride, tuple):
        return isinstance(stride, ScaledBasis)
    for step in stride:  # noqa: SIM110 - `any` with a generator takes twice as long, and every evaluation asks
        if has_basis(step):
            return True
    return False


@lru_cache(maxsize=256)
def all_indices(shape: Shape, stride: Stride) -> tuple[int, ...]:
    """The index of every coordinate, first fastest, where all extents and strides are Python integers."""
    return tuple([index for index in every_index(shape, stride) if isinstance(index, int)])


def every_index(shape: Shape, stride: Stride) -> list[Int]:
    """The index of every coordinate, first fastest, where all extents are Python integers: an addition for each."""
    found: list[Int] = [0]
    for extent, step in zip(leaves(shape), leaves(stride), strict=True):
        found = [index + i * step for i in range(extent) for index in found]
    return found


# The stride of a layout nests as its shape does: what the shape is says what the stride is, which no type can say.
def _index(coord: Coord, shape: Shape, stride: Any) -> Int:
    if coord is None:
        return 0
    if not isinstance(shape, tuple):
        if isinstance(coord, tuple):
            return _index(_only(coord, shape), shape, stride)
        index: Int = coord * stride
        return index
    if isinstance(coord, tuple):
        if len(coord) != len(shape):
            raise _misfit(coord, shape)
        total: Int = 0
        for part, extent, step in zip(coord, shape, stride, strict=True):
            total = total + _index(part, extent, step)
        return total
    return _linear(coord, shape, stride)


def _linear(index: Int, shape: tuple[IntTuple, ...], stride: tuple[Any, ...]) -> Int:
    """One integer for a whole tuple: the digits are peeled off from the left, the last one keeps the rest."""
    if not shape:
        return 0
    total: Int = 0
    for extent, step in zip(shape[:-1], stride[:-1], strict=True):
        size = product(extent)
        total = total + _index(index % size, extent, step)
        index = index // size
    return total + _index(index, shape[-1], stride[-1])


def _only(coord: tuple[Coord, ...], shape: Shape) -> Coord:
    if len(coord) != 1:
        raise _misfit(coord, shape)
    return coord[0]


def _misfit(coord: Coord, shape: Shape) -> ProfileError:
    count = f"{len(shape)} indices, one for each mode" if isinstance(shape, tuple) and len(shape) > 1 else "one index"
    return ProfileError(
        "the coordinate does not fit the shape",
        found=f"coordinate {tuple_text(coord)}, shape {tuple_text(shape)}",
        expected="one integer, or one per mode, or one per leaf",
        instead=f"{count}; the index of a thread is a tuple of three: `tidx, _, _ = cute.arch.thread_idx()`",
    )


def _coordinate_image(coord: Coord, shape: Shape, stride: Stride) -> IntTuple:
    """With basis strides each leaf adds to its own place of the resulting coordinate."""
    profile = coordinate_profile(stride)
    sums: dict[tuple[int, ...], Int] = dict.fromkeys(paths_of(profile), 0)
    _accumulate(coord, shape, stride, sums)
    image: IntTuple = fill(profile, sums)
    return image


# Any: congruent with the shape.
def _accumulate(coord: Coord, shape: Shape, stride: Any, sums: dict[tuple[int, ...], Int]) -> None:
    if isinstance(shape, tuple):
        parts = coord if isinstance(coord, tuple) else split(0 if coord is None else coord, shape)
        if len(parts) != len(shape):
            raise _misfit(coord, shape)
        for part, extent, step in zip(parts, shape, stride, strict=True):
            _accumulate(part, extent, step, sums)
    elif isinstance(coord, tuple):
        _accumulate(_only(coord, shape), shape, stride, sums)
    elif coord is not None:
        if isinstance(stride, ScaledBasis):
            sums[stride.mode] = sums[stride.mode] + coord * stride.scale
        elif not isinstance(stride, int) or stride != 0:
            raise ProfileError("a layout cannot mix basis strides with plain ones", found=f"stride {stride}")


def split(index: Int, shape: tuple[IntTuple, ...]) -> tuple[Int, ...]:
    """The integer coordinate of every mode for one index of a shape."""
    parts: list[Int] = []
    for extent in shape[:-1]:
        size = product(extent)
        parts.append(index % size)
        index = index // size
    return (*parts, index) if shape else ()


def coordinate_profile(stride: Stride) -> Any:
    """The nesting of the coordinates that basis strides produce: None for each leaf."""
    paths = [step.mode for step in leaves(stride) if isinstance(step, ScaledBasis)]
    return _profile(paths) if paths else None


def _profile(paths: list[tuple[int, ...]]) -> Any:
    if () in paths:
        if any(paths):
            raise ProfileError("a basis stride names both a mode and a part of it", found=str(paths))
        return None
    width = 1 + max(path[0] for path in paths)
    below = [[path[1:] for path in paths if path[0] == step] for step in range(width)]
    return tuple(_profile(inner) if inner else None for inner in below)


def paths_of(profile: object) -> list[tuple[int, ...]]:
    """The path of every leaf of a profile."""
    if not isinstance(profile, tuple):
        return [()]
    return [(step, *path) for step, inner in enumerate(profile) for path in paths_of(inner)]


def fill(profile: object, values: dict[tuple[int, ...], Any], path: tuple[int, ...] = ()) -> Any:
    """A profile with the values of its leaves put in."""
    if not isinstance(profile, tuple):
        return values[path]
    return tuple(fill(inner, values, (*path, step)) for step, inner in enumerate(profile))


def index_to_coord(index: Coord, shape: Shape) -> Any:
    """The coordinate, nested like the shape, of a colexicographic index; tuples go mode by mode."""
    if not isinstance(shape, tuple):
        return index
    parts = index if isinstance(index, tuple) else split(0 if index is None else index, shape)
    if len(parts) != len(shape):
        raise _misfit(index, shape)
    return tuple(index_to_coord(part, extent) for part, extent in zip(parts, shape, strict=True))


# Any: congruent with the shape.
def hier_coord(index: Int, shape: Shape, stride: Any) -> Any:
    """The coordinate of an index of a compact layout: each leaf divides by its stride and wraps at its extent."""
    if isinstance(shape, tuple):
        return tuple(hier_coord(index, extent, step) for extent, step in zip(shape, stride, strict=True))
    if isinstance(stride, ScaledBasis):
        raise ProfileError("an integer index has no coordinate under a basis stride", found=str(stride))
    if isinstance(stride, int) and stride == 0:
        return 0
    return (index // stride) % shape
