"""Warp collectives: shuffles, votes, matches, one lane elected, and reductions over lanes.

`mask` names the lanes that take part, all of them by default. Results that are masks of lanes are Int64 on machines
whose warps have more than 32. A shuffle reads a register of another lane, 32 bits at a time. `mask_and_clamp` is the
instruction's own operand: bits 0 to 4 bound the lane that is read, by default the last one, bits 8 to 12 say which bits
of the lane number divide the warp into segments (0x1800 | 7: segments of eight lanes). Where a warp has 64 lanes, both
have a bit more.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Literal, cast

from triptych.cute.arch.numbers import fmax, fmin
from triptych.cute.tracing.device import (
    Integer,
    L,
    N,
    bits32,
    device_function,
    device_model,
    device_trace,
    emit_as,
    lane_mask,
    mask_type,
    number,
    require_integer,
)
from triptych.hooks import Get, Hooks, Names, Set, Thunk
from triptych.ir.handles import Value
from triptych.ir.types import is_float
from triptych.kernel_ir.dialects.simt import ELECT, MATCH, REDUCE, SHUFFLE, VOTE
from triptych.metastage.trace.contexts import require_seen
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.aggregates import describe
from triptych.metastage.values.binding_time import truth
from triptych.metastage.values.scalars import Boolean, Float32, Int32, Int64, Numeric, TFloat32, Uint32

__all__ = [
    "elect_one",
    "match_all_sync",
    "match_any_sync",
    "shuffle_sync",
    "shuffle_sync_bfly",
    "shuffle_sync_down",
    "shuffle_sync_op",
    "shuffle_sync_up",
    "vote_all_sync",
    "vote_any_sync",
    "vote_ballot_sync",
    "vote_uni_sync",
    "warp_reduction",
    "warp_reduction_max",
    "warp_reduction_min",
    "warp_reduction_sum",
    "warp_redux_sync",
]

Kind = Literal["idx", "up", "down", "bfly"]


@device_function
def shuffle_sync_op(
    value: L, offset: Integer, mask: Integer | None = None, mask_and_clamp: Integer | None = None, kind: Kind = "idx"
) -> L:
    """`value` of another lane: lane `offset` (idx), or the own lane minus, plus or xor `offset` (up, down, bfly)."""
    source: Any = number(value)
    if isinstance(source, TFloat32):  # has 19 bits of its own and is stored as a Float32
        there: Any = shuffle_sync_op(source.to(Float32), offset, mask, mask_and_clamp, kind).to(TFloat32)
        return cast(L, there)
    clamp = device_model().lanes - 1 if mask_and_clamp is None else mask_and_clamp
    control = (lane_mask(mask), bits32(offset), bits32(clamp))
    shuffled = [_shuffle(word, control, kind) for word in _words(source)]
    return cast(L, type(source).of(_from_words(shuffled, source), device_trace().region))


@device_function
def shuffle_sync(value: L, offset: Integer, mask: Integer | None = None, mask_and_clamp: Integer | None = None) -> L:
    """`value` of lane `offset`."""
    return shuffle_sync_op(value, offset, mask, mask_and_clamp, "idx")


@device_function
def shuffle_sync_up(value: L, offset: Integer, mask: Integer | None = None, mask_and_clamp: Integer = 0) -> L:
    """`value` of the lane `offset` before; the first lanes keep their own."""
    return shuffle_sync_op(value, offset, mask, mask_and_clamp, "up")


@device_function
def shuffle_sync_down(
    value: L, offset: Integer, mask: Integer | None = None, mask_and_clamp: Integer | None = None
) -> L:
    """`value` of the lane `offset` after; the last lanes keep their own."""
    return shuffle_sync_op(value, offset, mask, mask_and_clamp, "down")


@device_function
def shuffle_sync_bfly(
    value: L, offset: Integer, mask: Integer | None = None, mask_and_clamp: Integer | None = None
) -> L:
    """`value` of the lane whose number differs in the bits of `offset`."""
    return shuffle_sync_op(value, offset, mask, mask_and_clamp, "bfly")


def _shuffle(word: Value, control: tuple[Value, Value, Value], kind: Kind) -> Value:
    mask, offset, clamp = control
    result = Float32 if is_float(word.type) else Int32
    return emit_as(result, SHUFFLE, (mask, word, offset, clamp), {"kind": f'"{kind}"'}).ir_value()


def _words(value: Numeric) -> list[Any]:
    """The bits of a number as 32-bit values, the low ones first; a Float32 is one as it is."""
    trace, width = device_trace(), value.info.width
    if isinstance(value, Float32):
        return [value.ir_value()]
    integer = f"i{width}"
    bits = value.ir_value()
    if value.info.kind == "float":
        bits = trace.value("arith.bitcast", (bits,), integer)
    if width <= 32:
        return [bits if width == 32 else trace.value("arith.extui", (bits,), "i32")]
    low = trace.value("arith.trunci", (bits,), "i32")
    rest = (trace.value("arith.shrui", (bits, _constant(integer, at)), integer) for at in range(32, width, 32))
    return [low, *(trace.value("arith.trunci", (part,), "i32") for part in rest)]


def _from_words(words: list[Any], like: Numeric) -> Any:
    """The inverse of `_words`."""
    trace, info = device_trace(), like.info
    if isinstance(like, Float32):
        return words[0]
    integer = f"i{info.width}"
    if info.width <= 32:
        bits = words[0] if info.width == 32 else trace.value("arith.trunci", words, integer)
    else:
        bits, *rest = (trace.value("arith.extui", (word,), integer) for word in words)
        for index, part in enumerate(rest, start=1):
            shifted = trace.value("arith.shli", (part, _constant(integer, 32 * index)), integer)
            bits = trace.value("arith.ori", (bits, shifted), integer)
    return trace.value("arith.bitcast", (bits,), info.mlir) if info.kind == "float" else bits


def _constant(integer: str, value: int) -> Any:
    trace = device_trace()
    return trace.value("arith.constant", (), integer, {"value": trace.builder.integer(integer, value)})


@device_function
def vote_any_sync(pred: Integer, mask: Integer | None = None) -> Boolean:
    """Whether `pred` holds in any lane of `mask`."""
    return _vote(Boolean, "any", pred, mask)


@device_function
def vote_all_sync(pred: Integer, mask: Integer | None = None) -> Boolean:
    """Whether `pred` holds in all lanes of `mask`."""
    return _vote(Boolean, "all", pred, mask)


@device_function
def vote_uni_sync(pred: Integer, mask: Integer | None = None) -> Boolean:
    """Whether `pred` is the same in all lanes of `mask`."""
    return _vote(Boolean, "uni", pred, mask)


@device_function
def vote_ballot_sync(pred: Integer, mask: Integer | None = None) -> Int32:
    """One bit for each lane: set where `pred` holds and the lane is in `mask`."""
    return _vote(mask_type(), "ballot", pred, mask)


@device_function
def match_any_sync(value: Integer | float, mask: Integer | None = None) -> Int32:
    """The lanes of `mask` that have the same integer as this one, a bit for each."""
    own = number(value)
    require_integer("match_any_sync", own)
    wide = own.to(Int64 if own.info.width > 32 else Int32)
    return emit_as(mask_type(), MATCH, (lane_mask(mask), wide.ir_value()))


@device_function
def match_all_sync(value: Integer | float, mask: Integer | None = None) -> tuple[Int32, Boolean]:
    """`mask` and True when all its lanes have the same integer, otherwise 0 and False."""
    trace, kind = device_trace(), mask_type()
    lanes = kind.of(lane_mask(mask), trace.region)
    alike: Any = match_any_sync(value, mask) == lanes
    chosen = trace.value("arith.select", (alike.ir_value(), lanes.ir_value(), kind(0).ir_value()), kind.info.mlir)
    return kind.of(chosen, trace.region), alike


@device_function
def elect_one() -> AbstractContextManager[None]:
    """`with elect_one():` one lane of the warp runs the block."""
    return Elected()


class Elected:
    """The block of one lane: in a program a branch as of an `if`; code of the language opens the region itself."""

    def __init__(self) -> None:
        self._region: AbstractContextManager[None] | None = None

    def __enter__(self) -> None:
        if not require_seen("elect_one()", sys._getframe(1)):
            self._region = _elected()
            self._region.__enter__()

    def __exit__(self, *error: Any) -> None:
        if self._region is not None:
            self._region.__exit__(*error)

    def __within__(self, hooks: Hooks, body: Thunk, names: Names, get: Get, set_: Set) -> None:
        hooks.if_(emit_as(Boolean, ELECT), body, lambda: None, names, get, set_)


@contextmanager
def _elected() -> Iterator[None]:
    trace = device_trace()
    elected = emit_as(Boolean, ELECT)
    branch = trace.operation("scf.if", (elected.ir_value(),), regions=2)
    block = trace.builder.append_block(branch, 0, (), trace.location())
    with trace.inside(block, "branch"):
        yield
        trace.operation("scf.yield")


def _vote(result: type[N], kind: str, pred: Integer, mask: object) -> N:
    operands = (lane_mask(mask), truth(pred).ir_value())
    return emit_as(result, VOTE, operands, {"kind": f'"{kind}"'})


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
