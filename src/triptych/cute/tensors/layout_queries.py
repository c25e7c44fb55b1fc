"""Layout queries of programs on layouts, tensors and shapes; the answers are numbers to compute with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from triptych import layout as algebra
from triptych.cute.dynamic.traced_integers import ints, numbers, realize, within_int32
from triptych.cute.tensors.program_integers import Coord, Int, IntTuple, Mode, Number, Numbers, Shape, Stride, View
from triptych.cute.tensors.tensor import Tensor
from triptych.layout import Layout, Tile
from triptych.layout import make_layout_image_mask as mask_at
from triptych.metastage.values.scalars import Boolean, Int32, Int64, Numeric


def layout_of(value: object) -> Any:
    """The layout of a tensor; everything else stays."""
    return value.layout if isinstance(value, Tensor) else value


def _answer(function: Callable[..., Any], *args: object) -> Any:
    """A question about layouts as one about tensors too."""
    return numbers(function(*(layout_of(ints(arg)) for arg in args)))


def _product(function: Callable[..., Any], value: object, *args: object) -> Any:
    """Public programs add the size of a grid to an Int32; of layouts, whose sizes say more, what fits is found out."""
    found = _answer(function, value, *args)
    if not isinstance(found, Int64) or not isinstance(value, tuple):
        return found
    return within_int32(found) if all(map(_is_small, algebra.tuples.leaves(value))) else found


def _is_small(extent: object) -> bool:
    return isinstance(extent, int | Int32) or (isinstance(extent, Numeric) and extent.info.width < 32)


def assume(value: Int, divby: int = 1) -> Number:
    """The same value, now known to be a multiple of `divby`: it is written as divby · (value // divby)."""
    return _answer(algebra.assume, value, divby)


def ceil_div(target: IntTuple, tiler: Tile) -> Numbers:
    """How many tiles cover a shape: the extents of the rest that a division by the tiler leaves."""
    return _answer(algebra.ceil_div, target, tiler)


def cosize(layout: View, mode: Mode = None) -> Number:
    """One more than the largest index; of a composed layout, than the largest its inner function is given."""
    return _answer(algebra.cosize, layout, mode)


def crd2idx(coord: Coord, target: IntTuple | View) -> Numbers:
    """The index of a coordinate in a layout, or its colexicographic number in a shape; None counts as 0."""
    return _answer(algebra.crd2idx, coord, target)


def depth(value: IntTuple | View) -> int:
    """The depth of nesting; 0 for an integer."""
    answer: int = _answer(algebra.depth, value)
    return answer


def idx2crd(index: Coord, shape: Shape) -> Numbers:
    """The coordinate of a colexicographic number, nested like the shape."""
    return _answer(algebra.idx2crd, index, shape)


def increment_coord(coord: Coord, target: IntTuple | View) -> Numbers:
    """The coordinate after this one; the last mode does not wrap."""
    return _answer(algebra.increment_coord, coord, target)


def is_congruent(a: object, b: object) -> bool:
    """Whether two values nest in the same way."""
    answer: bool = _answer(algebra.is_congruent, a, b)
    return answer


def is_weakly_congruent(a: object, b: object) -> bool:
    """Whether b nests like a or finer."""
    answer: bool = _answer(algebra.is_weakly_congruent, a, b)
    return answer


def leading_dim(shape: Shape, stride: Stride) -> int | tuple[int, ...] | None:
    """The mode with stride 1 that is longer than 1: its number, or its path inside a nested shape."""
    answer: int | tuple[int, ...] | None = _answer(algebra.leading_dim, shape, stride)
    return answer


def product(value: IntTuple) -> Number:
    """The product of all leaves; 1 for the empty tuple. That of Int32 numbers is one, or stops the program."""
    return _product(algebra.product, value)


def product_each(value: IntTuple) -> tuple[Number, ...]:
    """The product of every mode."""
    answer: tuple[Number, ...] = _answer(algebra.product_each, value)
    return answer


def product_like(value: IntTuple, profile: object) -> Numbers:
    """The products of a tuple at the leaves of a coarser one."""
    return _answer(algebra.product_like, value, profile)


def rank(value: object, mode: Mode = None) -> int:
    """The number of modes; 1 for an integer."""
    answer: int = _answer(algebra.rank, value, mode)
    return answer


def round_up(a: IntTuple, b: IntTuple) -> Numbers:
    """The next multiple of b, leaf by leaf."""
    return _answer(algebra.round_up, a, b)


def shape(value: object, mode: Mode = None) -> Numbers:
    """The shape of a value, or of one of its modes."""
    return _answer(algebra.shape, value, mode)


def shape_div(a: IntTuple, b: IntTuple) -> Numbers:
    """The factor of a that b leaves; at every leaf one must divide the other."""
    return _answer(algebra.shape_div, a, b)


def size(value: object, mode: Mode = None) -> Number:
    """The number of coordinates. That of a tuple of Int32 numbers is an Int32, or stops the program."""
    return _product(algebra.size, value, mode)


def stride(layout: View, mode: Mode = None) -> Numbers:
    """The stride of a layout, or of one of its modes."""
    return _answer(algebra.stride, layout, mode)


def size_in_bytes(dtype: type[Numeric], layout: View | IntTuple | None) -> Number:
    """The bytes a layout spans in elements of a type; none without a layout."""
    if layout is None:
        return 0
    return numbers(algebra.size_in_bytes(dtype, ints(layout_of(layout))))


def elem_less(lhs: IntTuple | View, rhs: IntTuple | View) -> bool | Boolean:
    """Whether every integer of a coordinate is less than the one at its place: a bool, or a Boolean of the run."""
    left, right = ints(_shape_of(lhs)), ints(_shape_of(rhs))
    if not isinstance(left, tuple) and not isinstance(right, tuple):
        less: bool | Boolean = left < right
        return less
    if not isinstance(left, tuple) or not isinstance(right, tuple) or len(left) != len(right):
        raise algebra.ProfileError(
            "the tuples are not congruent", found=f"{algebra.text(left)} and {algebra.text(right)}"
        )
    outcome: bool | Boolean = True
    for part, bound in zip(left, right, strict=True):
        outcome = elem_less(part, bound) & outcome
    return outcome


def _shape_of(value: object) -> Any:
    return value.layout.shape if isinstance(value, Tensor) else value.shape if isinstance(value, Layout) else value


def make_layout_image_mask(lay: Layout, coord: Coord, mode: int) -> Any:
    """A bit for every index a layout takes along one mode, the others fixed by the coordinate."""
    at: Any = ints(coord)
    return realize(mask_at(lay, at, mode), widest=Int32)
