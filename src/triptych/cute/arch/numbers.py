"""Arithmetic by its machine names: extremes, fused multiply-add, approximations, pairs of floats, bits of integers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from triptych.cute.memory.vectors import extract, join
from triptych.cute.tracing.device import (
    Integer,
    device_function,
    device_trace,
    emit_as,
    number,
    plain_number,
    require_float,
    require_integer,
)
from triptych.metastage.trace.errors import OperandTypeError
from triptych.metastage.trace.trace import place
from triptych.metastage.values.coercion import common_type
from triptych.metastage.values.promotion import float_for
from triptych.metastage.values.scalars import NUMERIC_CLASSES, Float32, Int32, Numeric, materialize

__all__ = [
    "add_packed_f32x2",
    "brev",
    "calc_packed_f32x2_op",
    "clz",
    "exp",
    "exp2",
    "exp_packed_f32x2",
    "ffs",
    "fma",
    "fma_packed_f32x2",
    "fmax",
    "fmin",
    "mul_hi",
    "mul_packed_f32x2",
    "mul_wide",
    "popc",
    "rcp_approx",
    "sub_packed_f32x2",
]

Pair = tuple[Any, Any]
_APPROXIMATE = {"fastmath": "#arith.fastmath<arcp,afn>"}
_EXTREMES = {
    ("float", "max"): "arith.maxnumf",
    ("float", "min"): "arith.minnumf",
    ("int", "max"): "arith.maxsi",
    ("int", "min"): "arith.minsi",
    ("uint", "max"): "arith.maxui",
    ("uint", "min"): "arith.minui",
}


@device_function
def fmax(a: Integer | float, b: Integer | float) -> Any:
    """The larger number; of a number and a NaN, the number."""
    return _extreme("max", a, b)


@device_function
def fmin(a: Integer | float, b: Integer | float) -> Any:
    """The smaller number; of a number and a NaN, the number."""
    return _extreme("min", a, b)


@device_function
def fma(a: Integer | float, b: Integer | float, c: Integer | float) -> Any:
    """`a * b + c` with one rounding."""
    dtype, operands = _alike(a, b, c)
    if dtype.info.kind != "float":
        dtype = NUMERIC_CLASSES[float_for(dtype.info.name)]
        operands = [materialize(plain_number(value), dtype.info, device_trace()) for value in (a, b, c)]
    return emit_as(dtype, "math.fma", operands)


@device_function
def rcp_approx(a: Integer | float) -> Float32:
    """About `1 / a`."""
    one = Float32(1.0)
    return emit_as(Float32, "arith.divf", (one.ir_value(), _float32("rcp_approx", a)), _APPROXIMATE)


@device_function
def exp2(a: Integer | float) -> Float32:
    """About two to the power of `a`."""
    return emit_as(Float32, "math.exp2", (_float32("exp2", a),), _APPROXIMATE)


@device_function
def exp(a: Integer | float) -> Float32:
    """About e to the power of `a`."""
    return emit_as(Float32, "math.exp", (_float32("exp", a),), _APPROXIMATE)


@device_function
def add_packed_f32x2(a: Pair, b: Pair, *, rnd: str = "rn", ftz: bool = False) -> Pair:
    """`a + b` for two pairs of Float32."""
    return _pairwise(operator.add, rnd, a, b)


@device_function
def sub_packed_f32x2(a: Pair, b: Pair, *, rnd: str = "rn", ftz: bool = False) -> Pair:
    """`a - b` for two pairs of Float32."""
    return _pairwise(operator.sub, rnd, a, b)


@device_function
def mul_packed_f32x2(a: Pair, b: Pair, *, rnd: str = "rn", ftz: bool = False) -> Pair:
    """`a * b` for two pairs of Float32."""
    return _pairwise(operator.mul, rnd, a, b)


@device_function
def fma_packed_f32x2(a: Pair, b: Pair, c: Pair, *, rnd: str = "rn", ftz: bool = False) -> Pair:
    """`a * b + c` with one rounding, for pairs of Float32."""
    return _pairwise(fma, rnd, a, b, c)


@device_function
def exp_packed_f32x2(a: Pair) -> Pair:
    """About e to the power of both of a pair of Float32."""
    first, second = a
    return exp(first), exp(second)


@device_function
def calc_packed_f32x2_op(
    src_a: Pair,
    src_b: Pair,
    src_c: Pair | None,
    calc_func: Callable[..., Any],
    *,
    rnd: str = "rn",
    ftz: bool = False,
) -> Pair:
    """Two or three pairs of Float32 through a builder call on vectors of two."""
    trace, kind = device_trace(), Float32.info.mlir
    pairs = [pair for pair in (src_a, src_b, src_c) if pair is not None]
    vectors = [join(trace, [number(each).to(Float32).ir_value() for each in pair], kind) for pair in pairs]
    found = calc_func(*vectors, rnd=rnd, ftz=ftz)
    vector = getattr(found, "ir_value", lambda: found)()
    first, second = (Float32.of(extract(trace, vector, side, kind), trace.region) for side in (0, 1))
    return first, second


def _pairwise(op: Callable[..., Any], rnd: str, *pairs: Pair) -> Pair:
    if rnd != "rn":
        raise OperandTypeError(
            "pairs of floats are rounded to nearest", span=place(), found=f"rnd={rnd!r}", expected="rnd='rn'"
        )
    first, second = (op(*(number(pair[side]).to(Float32) for pair in pairs)) for side in (0, 1))
    return first, second


def _extreme(which: str, a: Integer | float, b: Integer | float) -> Any:
    dtype, operands = _alike(a, b)
    return emit_as(dtype, _EXTREMES[dtype.info.kind, which], operands)


def _alike(*values: Integer | float) -> tuple[type[Numeric], list[Any]]:
    """The type of the sum of numbers, and the numbers as MLIR values of it."""
    numbers = [plain_number(value) for value in values]
    info = common_type(*numbers)
    dtype = Int32 if info.kind == "bool" else NUMERIC_CLASSES[info.name]
    return dtype, [materialize(value, dtype.info, device_trace()) for value in numbers]


def _float32(what: str, value: Integer | float) -> Any:
    own = number(value)
    require_float(what, own)
    if own.info.width > 32:
        raise OperandTypeError(
            f"{what} works in 32 bits", span=place(), found=type(own).__name__, expected="Float32 or a narrower float"
        )
    return own.to(Float32).ir_value()


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


@device_function
def mul_wide(a: Integer, b: Integer) -> Any:
    """The product of two integers of a type, in the type of twice the width."""
    own = _of_one_type("mul_wide", a, b)
    kind = type(own[0])
    if kind.width > 64:
        raise OperandTypeError(
            "mul_wide makes integers of up to 128 bits",
            span=place(),
            found=kind.__name__,
            expected="Int64, Uint64 or narrower integers",
        )
    wide = NUMERIC_CLASSES[f"{'Int' if kind.signed else 'Uint'}{2 * kind.width}"]
    left, right = (each.to(wide) for each in own)
    return left * right


@device_function
def mul_hi(a: Integer, b: Integer) -> Any:
    """The high half of the product of two integers of a type."""
    product = mul_wide(a, b)
    kind = NUMERIC_CLASSES[f"{'Int' if product.signed else 'Uint'}{product.width // 2}"]
    return (product >> kind.width).to(kind)


def _of_one_type(what: str, a: Integer, b: Integer) -> list[Numeric]:
    """Two integers of one type, where a Python number takes that of the other one."""
    known = [value for value in (a, b) if isinstance(value, Numeric)]
    kind = type(known[0]) if known else Int32
    if any(type(value) is not kind for value in known):
        raise OperandTypeError(
            f"{what} multiplies integers of one type",
            span=place(),
            found=" and ".join(type(value).__name__ for value in known),
            expected="the same type twice",
        )
    return [_integer(what, kind(value)) for value in (a, b)]


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
