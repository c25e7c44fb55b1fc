"""Bits of integers: how many are set, where the first is, their order reversed."""

from __future__ import annotations

from typing import Any

from triptych.cute.tracing.device import Integer, device_function, device_trace, emit_as, number, require_integer
from triptych.metastage.values.scalars import NUMERIC_CLASSES, Int32, Numeric


@device_function
def popc(value: Integer) -> Int32:
    """How many bits are set."""
    return _count("math.ctpop", "popc", value)


@device_function
def clz(value: Integer) -> Int32:
    """How many of the highest bits are zero; all of them for 0."""
    return _count("math.ctlz", "clz", value)


@device_function
def ffs(value: Integer) -> Int32:
    """The place of the lowest bit that is set, counted from 1; 0 for 0."""
    own = _integer("ffs", value)
    place = _count("math.cttz", "ffs", own) + 1
    trace = device_trace()
    some: Any = own != 0
    chosen = trace.value("arith.select", (some.ir_value(), place.ir_value(), Int32(0).ir_value()), "i32")
    return Int32.of(chosen, trace.region)


@device_function
def brev(value: Integer) -> Any:
    """The bits in reverse order."""
    own = _integer("brev", value)
    width = own.info.width
    reversed_: Any = own.to(NUMERIC_CLASSES[f"Uint{width}"])
    span = 1
    while span < width:
        low = _alternating(width, span)
        reversed_ = ((reversed_ >> span) & low) | ((reversed_ & low) << span)
        span *= 2
    return reversed_.to(type(own))


def _integer(what: str, value: Integer) -> Numeric:
    own = number(value)
    require_integer(what, own)
    return own


def _count(operation: str, what: str, value: Integer) -> Int32:
    own = _integer(what, value)
    counted: Int32 = emit_as(type(own), operation, (own.ir_value(),)).to(Int32)
    return counted


def _alternating(width: int, span: int) -> int:
    """Runs of `span` set and `span` clear bits, the lowest set."""
    return sum(((1 << span) - 1) << at for at in range(0, width, 2 * span))
