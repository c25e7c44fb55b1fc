"""Meta-stage, single elements narrower than a byte: shifted out of, and into, the one or two bytes that hold them."""

from __future__ import annotations

from typing import Any

from triptych.cute.dynamic.traced_integers import realize
from triptych.cute.memory.addresses import Addressed, reached
from triptych.cute.memory.bounds_checks import check_access
from triptych.cute.memory.cache_hints import load_attributes
from triptych.cute.memory.element_storage import Storage, constant
from triptych.ir.handles import Value
from triptych.layout import Int
from triptych.metastage.trace.trace import Trace
from triptych.metastage.values.scalars import Numeric, Uint8, Uint16

_WORD = "i16"
"""Two bytes: an element of six bits may begin in one and end in the next."""


def read_packed(trace: Trace, pointer: Addressed, storage: Storage, offset: Int, what: object) -> Any:
    """The element `offset` elements after the pointer."""
    word, _, shift = _word(trace, pointer, storage, offset, what)
    shifted = trace.value("arith.shrui", (word, shift), _WORD)
    bits = trace.value("arith.trunci", (shifted,), f"i{pointer.dtype.width}")
    return storage.from_memory(trace, bits, None)


def write_packed(trace: Trace, pointer: Addressed, storage: Storage, offset: Int, value: Value, what: object) -> None:
    """Write one element and leave the bits beside it, which nobody else may be writing."""
    word, addresses, shift = _word(trace, pointer, storage, offset, what)
    bits = trace.value("arith.extui", (storage.to_memory(trace, value, None),), _WORD)
    mask = trace.value("arith.shli", (_constant(trace, (1 << pointer.dtype.width) - 1), shift), _WORD)
    others = trace.value("arith.andi", (word, trace.value("arith.xori", (mask, _constant(trace, -1)), _WORD)), _WORD)
    new = trace.value("arith.ori", (others, trace.value("arith.shli", (bits, shift), _WORD)), _WORD)
    # The first byte last: when both addresses are one, it is the one that has changed.
    for address, by in reversed(list(zip(addresses, (0, 8), strict=False))):
        part = trace.value("arith.shrui", (new, _constant(trace, by)), _WORD) if by else new
        byte = trace.value("arith.trunci", (part,), "i8")
        trace.operation("llvm.store", (byte, address), attributes=_one_byte(trace))


def _word(trace: Trace, pointer: Addressed, storage: Storage, offset: Int, what: object) -> tuple[Any, list[Any], Any]:
    """The bytes that hold an element as one number, their addresses, and where the element begins in the number."""
    width = pointer.dtype.width
    bit = offset * width
    ends = (bit // 8,) if 8 % width == 0 else (bit // 8, (bit + width - 1) // 8)
    addresses: list[Any] = []
    word: Any = None
    for end in ends:
        address = reached(trace, pointer, end, Uint8)
        check_access(trace, pointer, address, 1, 1, what)
        byte = trace.value("llvm.load", (address,), "i8", _one_byte(trace) | load_attributes(trace, pointer, 1))
        wide = trace.value("arith.extui", (byte,), _WORD)
        if word is not None:
            high = trace.value("arith.shli", (wide, _constant(trace, 8)), _WORD)
            wide = trace.value("arith.ori", (word, high), _WORD)
        word = wide
        addresses.append(address)
    begin = realize(bit % 8)
    shift = begin.to(Uint16).ir_value() if isinstance(begin, Numeric) else _constant(trace, begin)
    return word, addresses, shift


def _one_byte(trace: Trace) -> dict[str, Any]:
    return {"alignment": trace.builder.integer("i64", 1), "ordering": trace.builder.integer("i64", 0)}


def _constant(trace: Trace, value: int) -> Any:
    return constant(trace, _WORD, value)
