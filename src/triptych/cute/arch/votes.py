"""Votes: what is true in the lanes of a warp, who is alike, and one lane elected.

`mask` names the lanes that take part, all of them by default. Results that are masks of lanes are Int64 on machines
whose warps have more than 32.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from triptych.cute.tracing.device import (
    Integer,
    N,
    device_function,
    device_trace,
    emit_as,
    lane_mask,
    mask_type,
    number,
    require_integer,
)
from triptych.hooks import Get, Hooks, Names, Set, Thunk
from triptych.kernel_ir.dialects.simt import ELECT, MATCH, VOTE
from triptych.metastage.trace.contexts import require_seen
from triptych.metastage.values.scalars import Boolean, Int32, Int64
from triptych.metastage.values.truth import truth


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
