"""The layout algebra for programs: layouts and tensors alike, made of and cut by numbers of the run.

Input: what a program has (tensors, layouts, shapes; integers that are numbers of the program). Output: the same kinds.
A view of a tensor is the same memory under another layout; what selects a part moves the iterator too. What is asked
about them is in `layout_questions`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar, cast, overload

from triptych import layout as algebra
from triptych.cute.dynamic.traced_integers import ints, numbers
from triptych.cute.tensors.program_integers import Coord, Int, IntTuple, Mode, Numbers, Shape, Stride, V
from triptych.cute.tensors.subjects import Subject, layout_of, mapping, tuples, untied, with_modes
from triptych.cute.tensors.tensor import Tensor
from triptych.layout import AnyLayout, ComposedLayout, Layout, Tile
from triptych.layout.composed import Inner
from triptych.layout.partition import tile_at

T = TypeVar("T")


def _view(function: Callable[..., Any], target: T, *args: object, kind: Subject = mapping) -> T:
    """A change of layout as one of tensors too: the iterator stays."""
    rest, subject = map(ints, args), kind(function.__name__, target)
    if isinstance(target, Tensor):
        return cast(T, Tensor(target.iterator, function(subject, *rest)))
    return cast(T, function(subject, *rest))


_modes = partial(_view, kind=with_modes)
"""A change of modes as one of tuples too."""


# layouts of numbers -----------------------------------------------------------------------------------------------
def make_layout(shape: Shape, *, stride: Stride | None = None) -> Layout:
    """The layout shape:stride; without a stride it is compact, first mode fastest."""
    return algebra.make_layout(ints(shape), stride=ints(stride))


def make_identity_layout(shape: Shape) -> Layout:
    """The layout that sends every coordinate to itself."""
    return algebra.make_identity_layout(ints(shape))


def make_ordered_layout(shape: Shape, order: IntTuple) -> Layout:
    """The compact layout whose modes get faster the smaller their order; ties go left to right."""
    return algebra.make_ordered_layout(ints(shape), ints(order))


def make_composed_layout(inner: Inner, offset: IntTuple, outer: Layout) -> ComposedLayout:
    """inner o offset o outer."""
    return algebra.make_composed_layout(inner, ints(offset), outer)


# views ------------------------------------------------------------------------------------------------------------
@overload
def append(value: V, elem: object, up_to_rank: int | None = None) -> V: ...
@overload
def append(value: IntTuple, elem: object, up_to_rank: int | None = None) -> Numbers: ...
def append(value: object, elem: object, up_to_rank: int | None = None) -> Any:
    """The value with a mode after its own, once or until it has a rank."""
    return _modes(algebra.append, value, elem, up_to_rank)


@overload
def append_ones(value: V, up_to_rank: int | None = None) -> V: ...
@overload
def append_ones(value: IntTuple, up_to_rank: int | None = None) -> Numbers: ...
def append_ones(value: object, up_to_rank: int | None = None) -> Any:
    """The value with trivial modes after its own."""
    return _modes(algebra.append_ones, value, up_to_rank)


def blocked_product(block: V, tiler: Layout) -> V:
    """((block, tiler), (block, tiler), …): copies lie side by side."""
    return _view(algebra.blocked_product, block, tiler)


def coalesce(layout: V, target_profile: Coord = None) -> V:
    """The same function with fewer modes; with a profile, mode by mode at its leaves.

    A static and a dynamic extent are never merged: the product would hide the static one, which is what
    vectorization needs to see. Two dynamic extents merge when their strides provably fit.
    """
    return _view(algebra.coalesce, layout, target_profile)


def complement(layout: V, cotarget: IntTuple | AnyLayout | None = None) -> V:
    """What fills the gaps of a layout up to `cotarget`; without one, the gaps and one step over the whole."""
    return _view(algebra.complement, layout, cotarget)


def composition(lhs: V, rhs: Tile) -> V:
    """lhs o rhs: with a layout the function composition, with a tile or a shape mode by mode."""
    return _view(algebra.composition, lhs, rhs)


def filter(layout: V, target_profile: Coord = None) -> V:
    """Drop what repeats (stride 0) and what is trivial (extent 1), then coalesce."""
    return _view(algebra.filter, layout, target_profile)


def filter_zeros(layout: V, target_profile: Coord = None) -> V:
    """Modes with stride 0 (or with 0 in the profile) get extent 1, so that no index repeats."""
    return _view(algebra.filter_zeros, layout, target_profile)


def flat_divide(target: V, tiler: Tile) -> V:
    """(tile, tile, …, rest, rest, …)."""
    return _view(algebra.flat_divide, target, tiler)


def flat_product(block: V, tiler: Tile) -> V:
    """(block mode, …, tiler mode, …)."""
    return _view(algebra.flat_product, block, tiler)


@overload
def flatten(value: V) -> V: ...
@overload
def flatten(value: IntTuple) -> Numbers: ...
def flatten(value: object) -> Any:
    """One mode per leaf; an integer stays an integer."""
    return _modes(algebra.flatten, value)


def flatten_to_tuple(value: IntTuple) -> tuple[Any, ...]:
    """The leaves of a tuple from left to right; an integer is the only leaf of itself."""
    tuples("flatten_to_tuple", value)
    return tuple(algebra.tuples.leaves(value))


@overload
def get(value: V, mode: Mode = None) -> V: ...
@overload
def get(value: IntTuple, mode: Mode = None) -> Numbers: ...
def get(value: object, mode: Mode = None) -> Any:
    """The part of a value at a path of modes; no path is the value itself."""
    return _modes(algebra.get, value, mode)


@overload
def group_modes(value: V, begin: int, end: int = -1) -> V: ...
@overload
def group_modes(value: IntTuple, begin: int, end: int = -1) -> Numbers: ...
def group_modes(value: object, begin: int, end: int = -1) -> Any:
    """The modes [begin, end) bracketed into one; -1 means to the end."""
    return _modes(algebra.group_modes, value, begin, end)


def logical_divide(target: V, tiler: Tile) -> V:
    """((tile, rest), (tile, rest), …): each mode split in place."""
    return _view(algebra.logical_divide, target, tiler)


def logical_product(block: V, tiler: Tile) -> V:
    """(block, copies); with a tuple of tilers, mode by mode."""
    return _view(algebra.logical_product, block, tiler)


@overload
def prepend(value: V, elem: object, up_to_rank: int | None = None) -> V: ...
@overload
def prepend(value: IntTuple, elem: object, up_to_rank: int | None = None) -> Numbers: ...
def prepend(value: object, elem: object, up_to_rank: int | None = None) -> Any:
    """The value with a mode before its own, once or until it has a rank."""
    return _modes(algebra.prepend, value, elem, up_to_rank)


@overload
def prepend_ones(value: V, up_to_rank: int | None = None) -> V: ...
@overload
def prepend_ones(value: IntTuple, up_to_rank: int | None = None) -> Numbers: ...
def prepend_ones(value: object, up_to_rank: int | None = None) -> Any:
    """The value with trivial modes before its own."""
    return _modes(algebra.prepend_ones, value, up_to_rank)


def raked_product(block: V, tiler: Layout) -> V:
    """((tiler, block), (tiler, block), …): copies are dealt out element by element."""
    return _view(algebra.raked_product, block, tiler)


@overload
def select(value: V, mode: Sequence[int]) -> V: ...
@overload
def select(value: IntTuple, mode: Sequence[int]) -> Numbers: ...
def select(value: object, mode: Sequence[int]) -> Any:
    """The chosen top-level modes, in the order given."""
    return _modes(algebra.select, value, mode)


def tile_to_shape(block: V, target_shape: IntTuple, order: IntTuple | None = None) -> V:
    """Repeat a block until it covers a shape, along the modes in the given order."""
    return _view(algebra.tile_to_shape, block, target_shape, order)


def tiled_divide(target: V, tiler: Tile) -> V:
    """((tile, tile, …), rest, rest, …)."""
    return _view(algebra.tiled_divide, target, tiler)


def tiled_product(block: V, tiler: Tile) -> V:
    """((block modes), tiler mode, tiler mode, …)."""
    return _view(algebra.tiled_product, block, tiler)


def zipped_divide(target: V, tiler: Tile) -> V:
    """((tile, tile, …), (rest, rest, …))."""
    return _view(algebra.zipped_divide, target, tiler)


def zipped_product(block: V, tiler: Tile) -> V:
    """((block modes), (tiler modes))."""
    return _view(algebra.zipped_product, block, tiler)


# parts ------------------------------------------------------------------------------------------------------------
def repeat_like(x: object, target: object) -> Any:
    """The value at every leaf of a target, of which only the nesting counts: a number is one leaf."""
    return algebra.repeat_like(x, layout_of(target))


@overload
def slice_(src: V, coord: Coord) -> V: ...
@overload
def slice_(src: IntTuple, coord: Coord) -> Numbers: ...
def slice_(src: object, coord: object) -> Any:
    """The modes where the coordinate is None, of a tensor, a layout or a tuple."""
    if isinstance(src, Tensor):
        return src.part(ints(coord))
    return algebra.slice_(untied("slice_", src), ints(coord))


def dice(src: object, dicer: object) -> Any:
    """The modes where the coordinate is an integer."""
    return algebra.dice(untied("dice", src), ints(dicer))


def slice_and_offset(coord: Coord, src: AnyLayout) -> tuple[AnyLayout, Numbers]:
    """The kept modes of a layout, and the offset of the fixed ones."""
    layout, offset = algebra.slice_and_offset(ints(coord), mapping("slice_and_offset", src))
    return layout, numbers(offset)


@overload
def domain_offset(coord: Coord, tensor: Tensor) -> Tensor: ...
@overload
def domain_offset(coord: Coord, tensor: AnyLayout) -> tuple[AnyLayout, Numbers]: ...
def domain_offset(coord: object, tensor: Tensor | AnyLayout) -> Any:
    """The tensor whose coordinate 0 is the given one."""
    if not isinstance(tensor, Tensor):
        return algebra.domain_offset(ints(coord), mapping("domain_offset", tensor))
    layout, offset = algebra.domain_offset(ints(coord), tensor.layout)
    return tensor.moved(offset, layout)


@overload
def local_tile(input: Tensor, tiler: Tile, coord: Coord, proj: Coord = None) -> Tensor: ...
@overload
def local_tile(input: AnyLayout, tiler: Tile, coord: Coord, proj: Coord = None) -> tuple[AnyLayout, Numbers]: ...
def local_tile(input: Tensor | AnyLayout, tiler: Tile, coord: Coord, proj: Any = None) -> Any:
    """The tile of a tensor at a coordinate of the grid of tiles; None keeps a direction whole."""
    # `proj` is Any: only where it has None is asked of it.
    if not isinstance(input, Tensor):
        return algebra.local_tile(mapping("local_tile", input), ints(tiler), ints(coord), proj)
    tiled, where = tile_at(input.layout, ints(tiler), ints(coord), proj)
    return Tensor(input.iterator, tiled).part(where)


@overload
def local_partition(target: Tensor, tiler: Layout, index: Int, proj: Coord = None) -> Tensor: ...
@overload
def local_partition(target: AnyLayout, tiler: Layout, index: Int, proj: Coord = None) -> tuple[AnyLayout, Numbers]: ...
def local_partition(target: Tensor | AnyLayout, tiler: Layout, index: Int, proj: Any = None) -> Any:
    """What a thread gets of a tensor when threads lie on it as `tiler` says."""
    # `proj` is Any: only where it has None is asked of it.
    layout, offset = algebra.local_partition(mapping("local_partition", target), tiler, ints(index), proj)
    return target.moved(offset, layout) if isinstance(target, Tensor) else (layout, offset)
