"""Loads and stores: elements at offsets from a pointer become as few accesses as can be proven right.

Input: a pointer and an offset, or one for every element of a vector. Output: LLVM loads and stores. Elements that lie
side by side move together, as wide as the alignment allows: a wider access than the alignment is a fault on a GPU.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from triptych.cute.dynamic.traced_integers import realize
from triptych.cute.memory.addresses import Addressed, check_access, parted_offset, reached
from triptych.cute.memory.element_storage import Storage, constant, storage_of
from triptych.cute.memory.hints import load_attributes, store_attributes
from triptych.cute.memory.vectors import extract, join, pick, vector_type
from triptych.cute.tracing.device import tracing
from triptych.cute.tracing.errors import PartialByteError, PointerError
from triptych.ir.handles import Value
from triptych.layout import Int, divisibility
from triptych.metastage.trace.trace import Trace, place
from triptych.metastage.values.scalars import Numeric, Uint8, Uint16
from triptych.support.dataclass import dataclass
from triptych.support.runs import runs

# Meta-stage, single elements narrower than a byte: shifted out of, and into, the one or two bytes that hold them.

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


WIDEST_ACCESS = 16
"""Bytes of the widest instruction that every GPU has."""


@dataclass(frozen=True, slots=True)
class Access:
    """`count` elements side by side, `offset` elements after the pointer. A `count` of None is one by itself."""

    offset: Int
    count: int | None
    alignment: int


def read(pointer: Addressed, offset: Int, what: object) -> Any:
    """One element; `what` names the tensor in errors."""
    storage = storage_of(pointer.dtype)
    return _read_one(tracing(), pointer, storage, offset, what)


def write(pointer: Addressed, offset: Int, value: Value, what: object) -> None:
    """Write one element."""
    trace, storage = tracing(), storage_of(pointer.dtype)
    _write_one(trace, pointer, storage, offset, value, what)


def read_vector(pointer: Addressed, offsets: Sequence[Int], what: object) -> Any:
    """The elements at the given offsets, as one vector in that order."""
    trace, storage = tracing(), storage_of(pointer.dtype)
    element = pointer.dtype.info.mlir
    places, order = _in_memory_order(offsets)
    pieces: list[tuple[Any, int]] = []
    for alone, accesses in groupby(_accesses(pointer, storage, places), lambda access: access.count is None):
        if alone:
            elements = [_read_one(trace, pointer, storage, access.offset, what) for access in accesses]
            pieces.append((join(trace, elements, element), len(elements)))
        else:
            pieces += [(_load(trace, pointer, storage, access, what), access.count or 1) for access in accesses]
    return pick(trace, _concatenated(trace, pieces, element), len(places), order, element)


def write_vector(pointer: Addressed, offsets: Sequence[Int], vector: Value, what: object) -> None:
    """Write the elements of a vector at the given offsets; of several at one offset the last stays."""
    trace, storage = tracing(), storage_of(pointer.dtype)
    element = pointer.dtype.info.mlir
    places, order = _in_memory_order(offsets)
    sources = dict(zip(order, range(len(offsets)), strict=True))
    vector = pick(trace, vector, len(offsets), [sources[i] for i in range(len(places))], element)
    done = 0
    for access in _accesses(pointer, storage, places):
        count = access.count or 1
        if access.count is None:
            value = extract(trace, vector, done, element)
            _write_one(trace, pointer, storage, access.offset, value, what)
        else:
            value = pick(trace, vector, len(places), range(done, done + count), element)
            _store(trace, pointer, storage, access, value, what)
        done += count


def accessed(pointer: Addressed, offset: Int, size: int, alignment: int, what: object) -> Any:
    """The address that an access of `size` bytes goes to, `offset` elements after the pointer: through its swizzle."""
    if pointer.operand is not None:
        raise PointerError(
            "a view that only matrix instructions read",
            span=place(),
            found=f"an element of {what}",
            expected="the tensor in shared memory that the fragment was made of",
        )
    trace = tracing()
    address = reached(trace, pointer, offset, pointer.dtype)
    check_access(trace, pointer, address, size, alignment, what)
    return address


def _in_memory_order(offsets: Sequence[Int]) -> tuple[list[Int], list[int]]:
    """The different offsets, those a known distance apart together and ascending, and the place of each given one."""
    if isinstance(offsets, range):
        return list(offsets), list(range(len(offsets)))
    parted = [parted_offset(offset) for offset in offsets]
    neighbours: dict[Int, set[int]] = {}
    for known, computed in parted:
        neighbours.setdefault(computed, set()).add(known)
    places = [(known, computed) for computed, near in neighbours.items() for known in sorted(near)]
    position = {place: i for i, place in enumerate(places)}
    return [computed + known for known, computed in places], [position[place] for place in parted]


def _accesses(pointer: Addressed, storage: Storage, places: list[Int]) -> Iterator[Access]:
    for run in runs(places, _distance, (1,)):
        start, length = run.first, run.count
        offset = places[start]
        if storage.is_packed and (divisibility(offset) % storage.group or length % storage.group):
            yield from (Access(place, None, 1) for place in places[start : start + length])
        else:
            yield from _chunks(pointer, storage, offset, length)


def _distance(place: Int, other: Int) -> int | None:
    distance = other - place
    return distance if isinstance(distance, int) else None


def _chunks(pointer: Addressed, storage: Storage, offset: Int, length: int) -> Iterator[Access]:
    """Registers are read whole: a GPU keeps them apart anyway, and a CPU chooses its own width."""
    while length:
        alignment = _alignment_at(pointer, storage, offset)
        if pointer.memspace.is_private and pointer.swizzle is None:
            count = length
        else:
            count = _largest(storage, min(WIDEST_ACCESS, alignment), length)
        yield Access(offset, count if count > 1 or storage.is_packed else None, alignment)
        offset, length = offset + count, length - count


def _largest(storage: Storage, size: int, length: int) -> int:
    """How many of `length` elements an access of at most `size` bytes takes: a power of two of groups."""
    groups = min(max(1, size // storage.group_bytes), length // storage.group)
    return storage.group << (groups.bit_length() - 1)


def _alignment_at(pointer: Addressed, storage: Storage, offset: Int) -> int:
    """What the address is a multiple of where the access ends up: a swizzle moves pieces of `1 << base` bytes."""
    alignment = math.gcd(pointer.alignment, divisibility(offset) // storage.group * storage.group_bytes)
    swizzle = pointer.swizzle
    return min(alignment, 1 << swizzle.base) if swizzle is not None and swizzle.bits else alignment


def _concatenated(trace: Trace, pieces: list[tuple[Any, int]], element: str) -> Any:
    """One vector of several, joined two by two so that none is copied often."""
    while len(pieces) > 1:
        pairs = [pieces[i : i + 2] for i in range(0, len(pieces), 2)]
        pieces = [pair[0] if len(pair) == 1 else _joined(trace, pair[0], pair[1], element) for pair in pairs]
    return pieces[0][0]


def _joined(trace: Trace, left: tuple[Any, int], right: tuple[Any, int], element: str) -> tuple[Any, int]:
    count = left[1] + right[1]
    mask = {"mask": trace.builder.integers(range(count))}
    return trace.value("vector.shuffle", (left[0], right[0]), vector_type(count, element), mask), count


def _read_one(trace: Trace, pointer: Addressed, storage: Storage, offset: Int, what: object) -> Any:
    if storage.is_packed:
        return read_packed(trace, pointer, storage, offset, what)
    return _load(trace, pointer, storage, Access(offset, None, _alignment_at(pointer, storage, offset)), what)


def _write_one(trace: Trace, pointer: Addressed, storage: Storage, offset: Int, value: Value, what: object) -> None:
    if not storage.is_packed:
        access = Access(offset, None, _alignment_at(pointer, storage, offset))
        _store(trace, pointer, storage, access, value, what)
        return
    if not pointer.memspace.is_private:
        name = pointer.dtype.__name__
        raise PartialByteError(
            f"one {name} cannot be written alone: it is a part of a byte that other threads may write",
            span=place(),
            found=f"a store of {pointer.dtype.width} bits in {what}",
            expected=f"a store of whole bytes: {storage.group} elements side by side, at a multiple of {storage.group}",
            instead="a register tensor for single elements, then `tensor.store(registers.load())`",
        )
    write_packed(trace, pointer, storage, offset, value, what)


def _load(trace: Trace, pointer: Addressed, storage: Storage, access: Access, what: object) -> Any:
    address = _address(pointer, storage, access, what)
    attributes = {"alignment": trace.builder.integer("i64", access.alignment), "ordering": _not_atomic(trace)}
    attributes |= load_attributes(trace, pointer, access.alignment)
    raw = trace.value("llvm.load", (address,), storage.memory_type(access.count), attributes)
    return storage.from_memory(trace, raw, access.count)


def _store(trace: Trace, pointer: Addressed, storage: Storage, access: Access, value: Value, what: object) -> None:
    raw = storage.to_memory(trace, value, access.count)
    address = _address(pointer, storage, access, what)
    attributes = {"alignment": trace.builder.integer("i64", access.alignment), "ordering": _not_atomic(trace)}
    attributes |= store_attributes(trace, pointer, access.alignment)
    trace.operation("llvm.store", (raw, address), attributes=attributes)


def _not_atomic(trace: Trace) -> Any:
    return trace.builder.integer("i64", 0)


def _address(pointer: Addressed, storage: Storage, access: Access, what: object) -> Any:
    return accessed(pointer, access.offset, storage.size_in_bytes(access.count or 1), access.alignment, what)
