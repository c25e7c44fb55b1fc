"""Layout queries of programs on layouts, tensors and shapes; the answers are numbers to compute with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from triptych import layout as algebra
from triptych.cute.dynamic.static_values import StaticExpression
from triptych.cute.dynamic.traced_integers import ints, numbers, realize, within_int32
from triptych.cute.tensors.program_integers import Coord, Int, IntTuple, Mode, Number, Numbers, Shape, Stride, View
from triptych.cute.tensors.subjects import Subject, integers, layout_of, mapping, nested, shaped, strided
from triptych.layout import Layout, Swizzle, Tile
from triptych.layout import make_layout_image_mask as mask_at
from triptych.metastage.values.scalars import Boolean, Int32, Int64, Numeric, numeric_class


def _answer(kind: Subject, function: Callable[..., Any], value: object, *args: object) -> Any:
    """A question about layouts as one about tensors too; what is asked about is of a kind."""
    subject = kind(function.__name__, value)
    return numbers(function(subject, *(layout_of(ints(arg)) for arg in args)))


def _product(kind: Subject, function: Callable[..., Any], value: object, *args: object) -> Any:
    """Public programs add the size of a grid to an Int32; of layouts, whose sizes say more, what fits is found out."""
    found = _answer(kind, function, value, *args)
    if not isinstance(found, Int64) or not isinstance(value, tuple):
        return found
    return within_int32(found) if all(map(_is_small, algebra.tuples.leaves(value))) else found


def _is_small(extent: object) -> bool:
    return isinstance(extent, int | Int32) or (isinstance(extent, Numeric) and extent.info.width < 32)


def assume(value: Int, divby: int = 1) -> Number:
    """The same value, now known to be a multiple of `divby`: it is written as divby · (value // divby)."""
    return _answer(integers, algebra.assume, value, divby)


def ceil_div(target: IntTuple, tiler: Tile) -> Numbers:
    """How many tiles cover a shape: the extents of the rest that a division by the tiler leaves."""
    return _answer(integers, algebra.ceil_div, target, tiler)


def cosize(layout: View, mode: Mode = None) -> Number:
    """One more than the largest index; of a composed layout, than the largest its inner function is given."""
    return _answer(mapping, algebra.cosize, layout, mode)


def crd2idx(coord: Coord, target: IntTuple | View) -> Numbers:
    """The index of a coordinate in a layout, or its colexicographic number in a shape; None counts as 0."""
    return numbers(algebra.crd2idx(ints(coord), shaped("crd2idx", target)))


def depth(value: IntTuple | View) -> int:
    """The depth of nesting; 0 for an integer."""
    answer: int = _answer(nested, algebra.depth, value)
    return answer


def idx2crd(index: Coord, shape: Shape) -> Numbers:
    """The coordinate of a colexicographic number, nested like the shape."""
    return numbers(algebra.idx2crd(ints(index), integers("idx2crd", shape)))


def increment_coord(coord: Coord, target: IntTuple | View) -> Numbers:
    """The coordinate after this one; the last mode does not wrap."""
    return numbers(algebra.increment_coord(ints(coord), shaped("increment_coord", target)))


def is_congruent(a: object, b: object) -> bool:
    """Whether two values nest in the same way."""
    answer: bool = _answer(nested, algebra.is_congruent, a, nested("is_congruent", b))
    return answer


def is_static(value: object) -> bool:
    """Whether every integer in it is known while tracing: of a layout, a tensor's layout, a tuple or a number."""
    if isinstance(value, Numeric):
        return not value.is_dynamic
    if isinstance(value, StaticExpression | Swizzle):
        return True
    return algebra.is_static(nested("is_static", value))


def is_weakly_congruent(a: object, b: object) -> bool:
    """Whether b nests like a or finer."""
    answer: bool = _answer(nested, algebra.is_weakly_congruent, a, nested("is_weakly_congruent", b))
    return answer


def leading_dim(shape: Shape, stride: Stride) -> int | tuple[int, ...] | None:
    """The mode with stride 1 that is longer than 1: its number, or its path inside a nested shape."""
    answer: int | tuple[int, ...] | None = _answer(integers, algebra.leading_dim, shape, stride)
    return answer


def product(value: IntTuple) -> Number:
    """The product of all leaves; 1 for the empty tuple. That of Int32 numbers is one, or stops the program."""
    return _product(integers, algebra.product, value)


def product_each(value: IntTuple) -> tuple[Number, ...]:
    """The product of every mode."""
    answer: tuple[Number, ...] = _answer(integers, algebra.product_each, value)
    return answer


def product_like(value: IntTuple, profile: object) -> Numbers:
    """The products of a tuple at the leaves of a coarser one."""
    return _answer(integers, algebra.product_like, value, profile)


def rank(value: object, mode: Mode = None) -> int:
    """The number of modes; 1 for an integer."""
    answer: int = _answer(nested, algebra.rank, value, mode)
    return answer


def round_up(a: IntTuple, b: IntTuple) -> Numbers:
    """The next multiple of b, leaf by leaf."""
    return _answer(integers, algebra.round_up, a, integers("round_up", b))


def shape(value: object, mode: Mode = None) -> Numbers:
    """The shape of a value, or of one of its modes."""
    return _answer(shaped, algebra.shape, value, mode)


def shape_div(a: IntTuple, b: IntTuple) -> Numbers:
    """The factor of a that b leaves; at every leaf one must divide the other."""
    return _answer(integers, algebra.shape_div, a, integers("shape_div", b))


def size(value: object, mode: Mode = None) -> Number:
    """The number of coordinates. That of a tuple of Int32 numbers is an Int32, or stops the program.

    Of a tiled copy or product, how many threads take part.
    """
    threads = getattr(type(value), "__threads__", None)
    if threads is not None and not mode and mode != 0:
        found: Number = threads(value)
        return found
    return _product(shaped, algebra.size, value, mode)


def stride(layout: View, mode: Mode = None) -> Numbers:
    """The stride of a layout, or of one of its modes."""
    return _answer(strided, algebra.stride, layout, mode)


def size_in_bytes(dtype: type[Numeric], layout: View | IntTuple | None) -> Number:
    """The bytes a layout spans in elements of a type; none without a layout."""
    if layout is None:
        return 0
    return numbers(algebra.size_in_bytes(numeric_class(dtype), shaped("size_in_bytes", layout)))


def elem_less(lhs: IntTuple | View, rhs: IntTuple | View) -> bool | Boolean:
    """Whether every integer of a coordinate is less than the one at its place: a bool, or a Boolean of the run."""
    left, right = algebra.shape(shaped("elem_less", lhs)), algebra.shape(shaped("elem_less", rhs))
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


def make_layout_image_mask(lay: Layout, coord: Coord, mode: int) -> Any:
    """A bit for every index a layout takes along one mode, the others fixed by the coordinate."""
    at: Any = ints(coord)
    return realize(mask_at(strided("make_layout_image_mask", lay), at, mode), widest=Int32)
