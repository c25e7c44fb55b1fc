"""Meta-stage, the layout algebra for programs: layouts and tensors alike, run-time numbers in and out.

Input: what a program has (tensors, layouts, shapes; integers that are numbers of the program). Output: the same kinds.
A view of a tensor is the same memory under another layout; what selects a part moves the iterator too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec

from triptych import layout as algebra
from triptych.cute.integers import ints, numbers
from triptych.cute.tensors import Tensor
from triptych.layout import AnyLayout, IntTuple, Layout
from triptych.metastage.scalars import Numeric

P = ParamSpec("P")


def _taking_numbers(function: Callable[P, Any]) -> Callable[P, Any]:
    """The function for programs: their numbers as arguments, layouts and static results as they are."""

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> Any:
        return function(*map(ints, args), **{name: ints(value) for name, value in kwargs.items()})

    return called


def _of_layouts(function: Callable[P, Any]) -> Callable[P, Any]:
    """A change of layout as one of tensors too: the iterator stays."""

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> Any:
        first, *rest = map(ints, args)
        options = {name: ints(value) for name, value in kwargs.items()}
        view: Any = function
        if isinstance(first, Tensor):
            return Tensor(first.iterator, view(first.layout, *rest, **options))
        return view(first, *rest, **options)

    return called


def _asking(function: Callable[P, Any]) -> Callable[P, Any]:
    """A question about layouts as one about tensors too; the answer is in numbers."""

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> Any:
        given = (_layout_of(ints(arg)) for arg in args)
        return numbers(function(*given, **{name: ints(value) for name, value in kwargs.items()}))

    return called


def _layout_of(value: Any) -> Any:
    return value.layout if isinstance(value, Tensor) else value


# layouts of numbers -----------------------------------------------------------------------------------------------
make_layout = _taking_numbers(algebra.make_layout)
make_identity_layout = _taking_numbers(algebra.make_identity_layout)
make_ordered_layout = _taking_numbers(algebra.make_ordered_layout)
make_composed_layout = _taking_numbers(algebra.make_composed_layout)
assume = _asking(algebra.assume)

# views ------------------------------------------------------------------------------------------------------------
append = _of_layouts(algebra.append)
append_ones = _of_layouts(algebra.append_ones)
blocked_product = _of_layouts(algebra.blocked_product)
coalesce = _of_layouts(algebra.coalesce)
complement = _of_layouts(algebra.complement)
composition = _of_layouts(algebra.composition)
filter = _of_layouts(algebra.filter)
filter_zeros = _of_layouts(algebra.filter_zeros)
flat_divide = _of_layouts(algebra.flat_divide)
flat_product = _of_layouts(algebra.flat_product)
flatten = _of_layouts(algebra.flatten)
get = _of_layouts(algebra.get)
group_modes = _of_layouts(algebra.group_modes)
logical_divide = _of_layouts(algebra.logical_divide)
logical_product = _of_layouts(algebra.logical_product)
prepend = _of_layouts(algebra.prepend)
raked_product = _of_layouts(algebra.raked_product)
select = _of_layouts(algebra.select)
tile_to_shape = _of_layouts(algebra.tile_to_shape)
tiled_divide = _of_layouts(algebra.tiled_divide)
tiled_product = _of_layouts(algebra.tiled_product)
zipped_divide = _of_layouts(algebra.zipped_divide)
zipped_product = _of_layouts(algebra.zipped_product)

# questions --------------------------------------------------------------------------------------------------------
ceil_div = _asking(algebra.ceil_div)
cosize = _asking(algebra.cosize)
crd2idx = _asking(algebra.crd2idx)
depth = _asking(algebra.depth)
idx2crd = _asking(algebra.idx2crd)
increment_coord = _asking(algebra.increment_coord)
is_congruent = _asking(algebra.is_congruent)
is_weakly_congruent = _asking(algebra.is_weakly_congruent)
leading_dim = _asking(algebra.leading_dim)
product = _asking(algebra.product)
product_each = _asking(algebra.product_each)
product_like = _asking(algebra.product_like)
rank = _asking(algebra.rank)
round_up = _asking(algebra.round_up)
shape = _asking(algebra.shape)
shape_div = _asking(algebra.shape_div)
size = _asking(algebra.size)
stride = _asking(algebra.stride)


def repeat_like(x: Any, target: Any) -> Any:
    """The value at every leaf of a target, of which only the nesting counts: a number is one leaf."""
    return algebra.repeat_like(x, _layout_of(target))


def slice_(src: Any, coord: Any) -> Any:
    """The modes where the coordinate is None, of a tensor, a layout or a tuple."""
    if isinstance(src, Tensor):
        return src.part(ints(coord))
    return algebra.slice_(ints(src), ints(coord))


def dice(src: Any, dicer: Any) -> Any:
    """The modes where the coordinate is an integer."""
    return algebra.dice(ints(src), ints(dicer))


def slice_and_offset(coord: Any, src: AnyLayout) -> tuple[AnyLayout, Any]:
    """The kept modes of a layout, and the offset of the fixed ones."""
    layout, offset = algebra.slice_and_offset(ints(coord), src)
    return layout, numbers(offset)


def domain_offset(coord: Any, tensor: Tensor | AnyLayout) -> Any:
    """The tensor whose coordinate 0 is the given one."""
    if not isinstance(tensor, Tensor):
        return algebra.domain_offset(ints(coord), tensor)
    layout, offset = algebra.domain_offset(ints(coord), tensor.layout)
    return tensor.moved(offset, layout)


def local_tile(input: Tensor | AnyLayout, tiler: Any, coord: Any, proj: Any = None) -> Any:
    """The tile of a tensor at a coordinate of the grid of tiles; None keeps a direction whole."""
    layout, offset = algebra.local_tile(_layout_of(input), ints(tiler), ints(coord), proj)
    return input.moved(offset, layout) if isinstance(input, Tensor) else (layout, offset)


def local_partition(target: Tensor | AnyLayout, tiler: Layout, index: Any, proj: Any = None) -> Any:
    """What a thread gets of a tensor when threads lie on it as `tiler` says."""
    layout, offset = algebra.local_partition(_layout_of(target), tiler, ints(index), proj)
    return target.moved(offset, layout) if isinstance(target, Tensor) else (layout, offset)


def size_in_bytes(dtype: type[Numeric], layout: AnyLayout | Tensor | IntTuple) -> Any:
    """The bytes a layout spans in elements of a type."""
    return numbers(algebra.size_in_bytes(dtype, ints(_layout_of(layout))))


def elem_less(lhs: Any, rhs: Any) -> Any:
    """Whether every integer of a coordinate is less than the one at its place: a bool, or a Boolean of the run."""
    left, right = ints(_shape_of(lhs)), ints(_shape_of(rhs))
    if not isinstance(left, tuple) and not isinstance(right, tuple):
        return left < right
    if not isinstance(left, tuple) or not isinstance(right, tuple) or len(left) != len(right):
        raise algebra.ProfileError(
            "the tuples are not congruent", found=f"{algebra.text(left)} and {algebra.text(right)}"
        )
    outcome: Any = True
    for part, bound in zip(left, right, strict=True):
        outcome = outcome & elem_less(part, bound)
    return outcome


def _shape_of(value: Any) -> Any:
    return value.layout.shape if isinstance(value, Tensor) else value.shape if isinstance(value, Layout) else value
