"""Coordinate checks: one known while tracing is refused at its own line, one of a run is checked in debug builds.

The shape of registers is known while tracing, so more can be told of them than of other memory: also a coordinate whose
address is another element of the tensor, or a gap between elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from types import EllipsisType
from typing import Any, NoReturn

from triptych.cute.dynamic.symbol_emission import range_of
from triptych.cute.dynamic.traced_integers import realize
from triptych.cute.memory.addresses import Allocation, checks_bounds
from triptych.cute.memory.pointers import Pointer
from triptych.cute.tracing.device import tracing
from triptych.cute.tracing.errors import TensorIndexError
from triptych.diagnostics.runtime_errors import OutOfBoundsError
from triptych.layout import AnyLayout, ComposedLayout, Coord, IntTuple, Layout, Shape, SymInt, product, text
from triptych.layout.tuples import leaves
from triptych.metastage.trace.checks import check, warn_here
from triptych.metastage.trace.trace import place
from triptych.metastage.values.dynamic_text import Refused
from triptych.metastage.values.scalars import Int64
from triptych.support.errors import TriptychError
from triptych.support.wording import with_article

_NOWHERE = -(1 << 62)
"""As the start of memory it is too far from every address."""


def check_coordinate(coord: Coord, layout: AnyLayout, what: object) -> None:
    """Check an element of registers, or of a tensor value."""
    for index, count in _unproven(coord, layout):
        plural = "" if count == 1 else "s"
        check(
            tracing(),
            _inside(index, count).ir_value(),
            OutOfBoundsError.__name__,
            f"the index lies outside a mode of {count} element{plural}",
            found=f"an index below 0 or above {count - 1} in the shape {text(layout.shape)} of {what}",
            expected=f"an index from 0 to {count - 1}",
            instead=f"`if 0 <= i < {count}:` around it, or a larger tensor",
        )


def reaching(pointer: Pointer, coord: Coord, layout: AnyLayout) -> Pointer:
    """The pointer for a part of a tensor. Where registers have no such part it reaches nothing: a part that nobody
    accesses is no fault."""
    allocation = pointer.allocation
    if allocation is None or not is_checked(pointer):
        return pointer
    tests = [_inside(index, count) for index, count in _unproven(coord, layout)]
    if not tests:
        return pointer
    trace = tracing()
    inside = reduce(lambda one, other: one & other, tests).ir_value()
    start = trace.value("arith.select", (inside, allocation.start.ir_value(), Int64(_NOWHERE).ir_value()), "i64")
    return pointer.inside(Allocation(Int64.of(start, trace.region), allocation.extent))


def is_checked(pointer: Pointer) -> bool:
    """Whether coordinates of a tensor are looked at, not only its memory."""
    return checks_bounds() and pointer.memspace.is_private


def within_ones(coord: Coord, shape: Shape) -> Coord:
    """An index of a run into modes of which the last have one element each, such as (64, 1, 1).

    A mode of one element has no other coordinate than 0, so what an index goes beyond the modes before it starts over
    there, and does not lead along the strides of modes that have no second element. The algebra leaves such an index
    to the last mode; tensors of coordinates keep that, because predicates find it.
    """
    if not isinstance(coord, SymInt) or not isinstance(shape, tuple):
        return coord
    count = product(shape)
    if not isinstance(count, int) or len(shape) < 2 or product(shape[-1]) != 1:
        return coord
    low, high = range_of(coord)
    return coord if low >= 0 and high < count else coord % count


def _inside(index: SymInt, count: int) -> Any:
    number = realize(index)
    return (number >= 0) & (number < count)


def _unproven(coord: Coord, layout: AnyLayout) -> Iterator[tuple[SymInt, int]]:
    plain: Layout = layout.outer if isinstance(layout, ComposedLayout) else layout
    return _outside(coord, plain.shape, plain.stride)


def _outside(coord: Coord, shape: Shape, stride: IntTuple) -> Iterator[tuple[SymInt, int]]:
    """Integers of a run that may lie outside their mode, with the number of its elements.

    Where all of a mode is one element, every index names it.
    """
    if isinstance(coord, tuple):
        if isinstance(shape, tuple) and isinstance(stride, tuple) and len(coord) == len(shape):
            for part, extent, step in zip(coord, shape, stride, strict=True):
                yield from _outside(part, extent, step)
        elif not isinstance(shape, tuple) and len(coord) == 1:
            yield from _outside(coord[0], shape, stride)
    elif isinstance(coord, SymInt):
        count = product(shape)
        if isinstance(count, int) and not all(isinstance(step, int) and step == 0 for step in leaves(stride)):
            low, high = range_of(coord)
            if low < 0 or high >= count:
                yield coord, count


_NO_COORDINATES = (slice, EllipsisType, float, complex, str, list, dict, set)
"""What indexes arrays, or nothing at all."""


def check_inside(coord: Coord, shape: Shape, what: object, *, is_bounded: bool = True) -> None:
    """Refuse integers of a coordinate that lie outside their mode, as far as both are known now, unless the tensor goes
    on there.

    A coordinate that does not fit the shape at all is left to the layout, which says so better.
    """
    if isinstance(coord, _NO_COORDINATES):
        raise _no_coordinate(coord, what)
    if isinstance(coord, tuple) and isinstance(shape, tuple):
        if len(coord) == len(shape):
            for part, extent in zip(coord, shape, strict=True):
                check_inside(part, extent, what, is_bounded=is_bounded)
    elif isinstance(coord, tuple):
        if len(coord) == 1:
            check_inside(coord[0], shape, what, is_bounded=is_bounded)
    elif isinstance(coord, int) and is_bounded:
        count = product(shape)
        if coord < 0 or (isinstance(count, int) and coord >= count):
            raise TensorIndexError(
                f"the index {coord} lies outside a mode of {count} elements",
                span=place(),
                found=f"index {coord} in the shape {text(shape)} of {what}",
                expected=f"an index from 0 to {count - 1}" if isinstance(count, int) else "an index from 0",
                instead=_instead(coord),
            )


def is_negative(coord: Coord) -> bool:
    """Whether a coordinate counts from the end, as in arrays."""
    return any(isinstance(leaf, int) and leaf < 0 for leaf in leaves(coord))


def _instead(index: int) -> str:
    if index >= 0:
        return "a smaller index, or a larger tensor"
    return f"`x[cute.size(x) - {-index}]`: indices count from the front"


def _no_coordinate(part: object, what: object) -> TensorIndexError:
    """What an array takes as an index and a tensor does not."""
    if part == slice(None):
        shown, instead = "`:`", "`None` for a whole mode, as `x[None, 0]`"
    elif isinstance(part, slice):
        shown = "a slice of a mode"
        instead = "`cute.local_tile(x, (n,), (i,))`, tile i of n elements, or `cute.domain_offset((start,), x)`"
    elif part is ...:
        shown, instead = "`...`", "`None` for each whole mode, as `x[None, None, 0]`"
    elif isinstance(part, float):
        shown, instead = repr(part), "`int(i)`, or `//` in place of `/`"
    else:
        shown, instead = with_article(type(part).__name__), "an integer for each mode, `None` for a whole mode"
    return TensorIndexError(
        f"{shown} is no coordinate of a tensor",
        span=place(),
        found=f"{shown} in a coordinate of {what}",
        expected="integers, run-time or not, and `None` for modes that are kept",
        instead=instead,
    )


# elements that do not exist ------------------------------------------------------------------------------------------
_OPERATORS = "add sub mul truediv floordiv mod pow lshift rshift and or xor matmul"
_OTHERS = "lt le gt ge eq ne neg pos invert abs bool int float index getitem call iter"


class UndefinedElement(Refused):
    """What a program reads of registers beyond a tensor: using it raises what reading it would have.

    A compiler for GPUs knows that such a register has no value, and leaves out a store of it. Public programs whose
    loops go too far do nothing else with one.
    """

    __slots__ = ("refusal",)
    __hash__ = object.__hash__

    def __init__(self, error: TriptychError) -> None:
        self.refusal = error

    def __repr__(self) -> str:
        return f"UndefinedElement({self.refusal.title})"

    def leave_out(self) -> None:
        """Warn of a store of it, which is not made."""
        warn_here(
            f"{self.refusal.title}, and is stored: a compiler for GPUs leaves that store out, and so does this one; "
            "write: a loop over the elements that there are"
        )

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self.refusal


def _refusal() -> Callable[..., NoReturn]:
    def refuse(self: UndefinedElement, *_: object) -> NoReturn:
        raise self.refusal

    return refuse


for _name in [*_OPERATORS.split(), *(f"r{each}" for each in _OPERATORS.split()), *_OTHERS.split()]:
    setattr(UndefinedElement, f"__{_name}__", _refusal())
