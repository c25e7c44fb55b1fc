"""Reductions over the lanes of a warp, or of equal parts of it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, cast

from triptych.cute.arch.numbers import fmax, fmin
from triptych.cute.arch.shuffles import shuffle_sync_bfly
from triptych.cute.tracing.device import (
    Integer,
    L,
    device_function,
    device_model,
    device_trace,
    emit_as,
    lane_mask,
    number,
)
from triptych.kernel_ir.dialects.simt import REDUCE
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.describing import describe
from triptych.metastage.values.scalars import Float32, Int32, Uint32

_KINDS = {
    Int32: ("add", "max", "min", "and", "or", "xor"),
    Uint32: ("add", "umax", "umin", "and", "or", "xor"),
    Float32: ("fmax", "fmin"),
}


@device_function
def warp_reduction(val: L, op: Callable[[Any, Any], Any], *, threads_in_group: int | None = None) -> L:
    """Combine the values of each group of neighbouring lanes by `op`; every lane of a group gets the result.

    A group is the warp unless `threads_in_group` says otherwise.

    Lanes meet their neighbours first, then pairs, then fours, and nothing is contracted: a sum is the same on every
    target.
    """
    lanes = device_model().lanes
    whole = lanes if threads_in_group is None else threads_in_group
    sizes = [1 << n for n in range(lanes.bit_length())]
    if whole not in sizes:
        raise OperandTypeError(
            "a group of lanes divides a warp in halves",
            span=place(),
            found=f"threads_in_group={describe(threads_in_group)}",
            expected=f"{', '.join(map(str, sizes[:-1]))} or {lanes}",
        )
    reduced: Any = number(val)
    offset = 1
    with device_trace().contraction.forbidden():
        while offset < whole:
            reduced = op(reduced, shuffle_sync_bfly(reduced, offset=offset))
            offset *= 2
    return cast(L, reduced)


@device_function
def warp_reduction_sum(val: L, *, threads_in_group: int | None = None) -> L:
    """The sum over each group of lanes."""
    return warp_reduction(val, operator.add, threads_in_group=threads_in_group)


@device_function
def warp_reduction_max(val: L, *, threads_in_group: int | None = None) -> L:
    """The largest value of each group of lanes."""
    return warp_reduction(val, fmax, threads_in_group=threads_in_group)


@device_function
def warp_reduction_min(val: L, *, threads_in_group: int | None = None) -> L:
    """The smallest value of each group of lanes."""
    return warp_reduction(val, fmin, threads_in_group=threads_in_group)


@device_function
def warp_redux_sync(
    value: Integer | float, kind: str, mask_and_clamp: Integer | None = None, abs: bool = False, nan: bool = False
) -> Any:
    """Combine the values of the lanes of a mask in one instruction.

    `kind` is add, max, min, and, or, xor for 32-bit integers, fmax or fmin for Float32; with `nan` a NaN wins, with
    `abs` floats are taken without their signs.
    """
    own = number(value)
    known = _KINDS.get(type(own), ())
    chosen = f"u{kind}" if f"u{kind}" in known else kind
    if chosen not in known:
        raise OperandTypeError(
            f"warp_redux_sync has no {kind!r} for {type(own).__name__}",
            span=place(),
            found=f"kind={kind!r} and {type(own).__name__}",
            expected="; ".join(f"{cls.__name__}: {', '.join(kinds)}" for cls, kinds in _KINDS.items()),
        )
    attributes = {"kind": f'"{chosen}"'}
    attributes |= {name: "true" for name, wanted in (("abs", abs), ("nan", nan)) if wanted}
    return emit_as(type(own), REDUCE, (own.ir_value(), lane_mask(mask_and_clamp)), attributes)
