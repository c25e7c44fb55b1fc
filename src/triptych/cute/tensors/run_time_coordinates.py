"""Meta-stage, debug builds: integers of a run in coordinates of registers lie in their modes, as known ones must.

The shape of registers is known while tracing, so more can be told of them than of other memory: also a coordinate whose
address is another element of the tensor, or a gap between elements.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

from triptych.cute.dynamic.symbol_emission import range_of
from triptych.cute.dynamic.traced_integers import realize
from triptych.cute.memory.allocations import Allocation
from triptych.cute.memory.bounds_checks import checks_bounds
from triptych.cute.memory.pointers import Pointer
from triptych.cute.tracing.current_trace import tracing
from triptych.diagnostics.runtime_errors import OutOfBoundsError
from triptych.layout import AnyLayout, ComposedLayout, IntTuple, Layout, Shape, SymInt, product, text
from triptych.layout.tuples import Coord, leaves
from triptych.metastage.trace.checks import check
from triptych.metastage.values.scalars import Int64

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
