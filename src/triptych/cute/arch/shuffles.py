"""Shuffles: each lane of a warp reads a register of another lane. The machine shuffles 32 bits at a time.

`mask` names the lanes that take part, all of them by default. `mask_and_clamp` is the instruction's own operand: bits 0
to 4 bound the lane that is read, by default the last one, bits 8 to 12 say which bits of the lane number divide the
warp into segments (0x1800 | 7: segments of eight lanes). Where a warp has 64 lanes, both have a bit more.
"""

from __future__ import annotations

from typing import Any, Literal, cast

from triptych.cute.tracing.device import (
    Integer,
    L,
    bits32,
    device_function,
    device_model,
    device_trace,
    emit_as,
    lane_mask,
    number,
)
from triptych.ir.handles import Value
from triptych.ir.types import is_float
from triptych.kernel_ir.dialects.simt import SHUFFLE
from triptych.metastage.values.scalars import Float32, Int32, Numeric, TFloat32

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
