"""The layout: a shape and a stride, that is a function from coordinates to indices.

Input: two congruent nested tuples. Output: an immutable, hashable, picklable function value.
Everything the algebra can do is a plain function elsewhere; the class only holds, evaluates and shows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from triptych.layout.coordinates import evaluate, has_underscore, hier_coord
from triptych.layout.errors import ProfileError
from triptych.layout.integers import Int, divisibility, is_one, is_static, known_equal
from triptych.layout.notation import read_layout
from triptych.layout.number_operators import answer_in_numbers
from triptych.layout.picture import draw_svg, fits_a_picture, index_grid
from triptych.layout.tuples import (
    Coord,
    IntTuple,
    Modes,
    Shape,
    Stride,
    at,
    congruent,
    leaves,
    modes_of,
    product,
    rank_of,
    tuple_text,
)
from triptych.support.dataclass import dataclass

# How many neighbours in memory may be moved at once: shape and stride in, a number of elements out.


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


@dataclass(frozen=True, slots=True)
class Layout:
    """shape : stride."""

    shape: Modes
    stride: Modes

    def __post_init__(self) -> None:
        if not congruent(self.shape, self.stride):
            raise ProfileError(
                "a layout needs a stride that nests like its shape", found=f"shape {self.shape}, stride {self.stride}"
            )

    @classmethod
    def parse(cls, text: str) -> Layout:
        """A layout from its notation, `(4,8):(8,1)`; without a stride it is compact, first mode fastest."""
        return cls(*read_layout(text))

    @property
    def value(self) -> Layout:
        """What builder calls (`cutlass._mlir.dialects`) take for it: itself."""
        return self

    @property
    def is_static(self) -> bool:
        """Whether every extent and stride is known now."""
        return is_static(self.shape) and is_static(self.stride)

    @property
    def max_alignment(self) -> int:
        """How many elements can be moved at once, wherever such a group begins."""
        return max_alignment(self.shape, self.stride)

    def __call__(self, coord: object) -> Any:
        """The index of a coordinate, in any of its forms: one integer, one per mode, one per leaf.

        It is an integer, or a coordinate where the strides lead into coordinates.
        """
        if not isinstance(coord, int) and has_underscore(coord):
            raise ProfileError(
                "a coordinate with None selects a part, it has no index",
                found=str(coord),
                instead="slice_(layout, coord)",
            )
        if isinstance(coord, int):
            return evaluate(coord, self.shape, self.stride)
        index: IntTuple = answer_in_numbers(lambda inside: evaluate(inside, self.shape, self.stride), coord)
        return index

    def __getitem__(self, mode: int) -> Layout:
        """The layout of one mode."""
        return trusted(at(self.shape, (mode,)), at(self.stride, (mode,)))

    def __len__(self) -> int:
        return rank_of(self.shape)

    def __iter__(self) -> Iterator[Layout]:
        return iter(modes(self))

    def __str__(self) -> str:
        return f"{tuple_text(self.shape)}:{tuple_text(self.stride)}"

    def __repr__(self) -> str:
        return f"Layout({self})"

    def _repr_svg_(self) -> str | None:
        """A picture for notebooks, when the layout is static and not too large."""
        return draw_svg(index_grid(self)) if fits_a_picture(self) and self.is_static else None

    def get_hier_coord(self, index: Int) -> IntTuple:
        """The coordinate, nested like the shape, that a compact layout sends to an index."""
        coord: IntTuple = answer_in_numbers(lambda inside: hier_coord(inside, self.shape, self.stride), index)
        return coord

    def get_flat_coord(self, index: Int) -> IntTuple:
        """The coordinate with one integer per mode that a compact layout sends to an index."""
        coord: IntTuple = answer_in_numbers(self._flat_coord, index)
        return coord

    def _flat_coord(self, index: Int) -> IntTuple:
        hier = hier_coord(index, self.shape, self.stride)
        if not isinstance(self.shape, tuple):
            coord: IntTuple = hier
            return coord
        return tuple(compact_index(part, mode) for part, mode in zip(modes_of(hier), self.shape, strict=True))


def trusted(shape: Shape, stride: Stride) -> Layout:
    """A layout whose two tuples are congruent by construction; checking again would double the cost."""
    layout = object.__new__(Layout)
    object.__setattr__(layout, "shape", shape)
    object.__setattr__(layout, "stride", stride)
    return layout


def modes(layout: Layout) -> tuple[Layout, ...]:
    """The modes of a layout; one whose shape is an integer is its own only mode."""
    if not isinstance(layout.shape, tuple) or not isinstance(layout.stride, tuple):
        return (layout,)
    return tuple(map(trusted, layout.shape, layout.stride))


def from_modes(parts: Iterable[Layout]) -> Layout:
    """The layout whose modes are the given layouts."""
    items = tuple(parts)
    return trusted(tuple([part.shape for part in items]), tuple([part.stride for part in items]))


def beside(first: Layout, second: Layout) -> Layout:
    """The first layout as one mode, then the modes of the second."""
    return from_modes((first, *modes(second)))


def concatenated(first: Layout, second: Layout) -> Layout:
    """The modes of the first layout, then those of the second."""
    return from_modes((*modes(first), *modes(second)))


def from_leaves(pairs: Iterable[tuple[Int, Stride]]) -> Layout:
    """The layout of flat (extent, stride) pairs; a single pair stands for itself."""
    items = tuple(pairs)
    if len(items) == 1:
        return trusted(*items[0])
    return trusted(tuple(shape for shape, _ in items), tuple(stride for _, stride in items))


def compact_index(coord: Coord, shape: Shape) -> Int:
    """The colexicographic number of a coordinate in a shape."""
    if not isinstance(coord, tuple):
        return 0 if coord is None else coord
    if not isinstance(shape, tuple) or len(coord) != len(shape):
        raise ProfileError("the coordinate does not fit the shape", found=f"{coord} in {shape}")
    index: Int = 0
    scale: Int = 1
    for part, extent in zip(coord, shape, strict=True):
        index = index + compact_index(part, extent) * scale
        scale = scale * product(extent)
    return index
