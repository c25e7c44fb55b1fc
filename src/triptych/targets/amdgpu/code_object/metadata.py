"""Metadata of code objects: the note in MessagePack that AMD's runtime reads, as values and as kernels.

Input: an ELF file, LLVM's object or a linked code object. Output: plain Python values, or one record for each kernel.
Of MessagePack only the kinds that LLVM writes are known: any other is an error, as is a note that ends too early.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

from triptych.support.dataclass import dataclass

_NOTE = 7
"""The kind of a section with notes."""
_METADATA = 32
"""NT_AMDGPU_METADATA."""
_OWNER = b"AMDGPU\0"
_NUMBERS = {0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"}
_LENGTHS = {0xD9: ">B", 0xDA: ">H", 0xDB: ">I", 0xDC: ">H", 0xDD: ">I", 0xDE: ">H", 0xDF: ">I"}
_TEXTS, _LISTS, _MAPS = (0xD9, 0xDA, 0xDB), (0xDC, 0xDD), (0xDE, 0xDF)
_WORDS: dict[int, bool | None] = {0xC0: None, 0xC2: False, 0xC3: True}


@dataclass(frozen=True, slots=True)
class Argument:
    """One value among a kernel's arguments, as the runtime lays them out."""

    kind: str
    """`by_value`, `global_buffer`, or one of those that the runtime fills in itself, `hidden_...`."""
    offset: int
    size: int

    @property
    def is_hidden(self) -> bool:
        return self.kind.startswith("hidden_")


@dataclass(frozen=True, slots=True)
class Kernel:
    """What the runtime knows of one kernel."""

    name: str
    symbol: str
    """Of its descriptor."""
    arguments: tuple[Argument, ...]
    argument_bytes: int
    threads: int
    """The most of a block that it may be launched with."""
    lanes: int
    vector_registers: int
    """Of a thread, with accumulation registers."""
    accumulation_registers: int
    scalar_registers: int
    """Of a wave."""
    vector_spills: int
    scalar_spills: int
    shared: int
    """Bytes of LDS whose size is known here; a launch adds its own."""
    scratch: int
    """Bytes of memory of each thread."""


def kernels_of(code: bytes) -> dict[str, Kernel]:
    """The kernels of a code object, by name."""
    found = (_kernel(each) for each in metadata(code)["amdhsa.kernels"])
    return {kernel.name: kernel for kernel in found}


def chip_of(code: bytes) -> str:
    """The chip that a code object is for: `gfx942` of `amdgcn-amd-amdhsa--gfx942`."""
    return str(metadata(code)["amdhsa.target"]).rpartition("--")[2]


def _kernel(said: Mapping[str, Any]) -> Kernel:
    return Kernel(
        name=said[".name"],
        symbol=said[".symbol"],
        arguments=tuple(Argument(each[".value_kind"], each[".offset"], each[".size"]) for each in said[".args"]),
        argument_bytes=said[".kernarg_segment_size"],
        threads=said[".max_flat_workgroup_size"],
        lanes=said[".wavefront_size"],
        vector_registers=said[".vgpr_count"],
        accumulation_registers=said.get(".agpr_count", 0),
        scalar_registers=said[".sgpr_count"],
        vector_spills=said[".vgpr_spill_count"],
        scalar_spills=said[".sgpr_spill_count"],
        shared=said[".group_segment_fixed_size"],
        scratch=said[".private_segment_fixed_size"],
    )


def metadata(code: bytes) -> dict[str, Any]:
    """All that the note says."""
    (table,) = struct.unpack_from("<Q", code, 0x28)
    size, count = struct.unpack_from("<HH", code, 0x3A)
    for start in range(table, table + size * count, size):
        _, kind, _, _, offset, length = struct.unpack_from("<IIQQQQ", code, start)
        if kind == _NOTE:
            found = _described(code[offset : offset + length])
            if found is not None:
                value, _ = _read(found, 0)
                assert isinstance(value, dict), "the metadata is a map"
                return value
    raise ValueError("a code object has a note with metadata, and this file has none")


def _described(notes: bytes) -> bytes | None:
    """The contents of the note with metadata, among all notes of a section."""
    at = 0
    while at < len(notes):
        owner, length, kind = struct.unpack_from("<III", notes, at)
        begin = at + 12 + _padded(owner)
        if kind == _METADATA and notes[at + 12 : at + 12 + owner] == _OWNER:
            return notes[begin : begin + length]
        at = begin + _padded(length)
    return None


def _padded(length: int) -> int:
    return -(-length // 4) * 4


# MessagePack: a byte that says what follows; small values are in that byte. -------------------------------------------
def _read(data: bytes, at: int) -> tuple[Any, int]:
    """The value at a place, and where the next one begins."""
    first = data[at]
    at += 1
    if first in _WORDS:
        return _WORDS[first], at
    if first in _NUMBERS:
        return _number(data, at, _NUMBERS[first])
    if first <= 0x7F or first >= 0xE0:
        return first if first <= 0x7F else first - 0x100, at
    if first in _LENGTHS:
        length, at = _number(data, at, _LENGTHS[first])
    elif first <= 0xBF:
        length = first & (0x1F if first >= 0xA0 else 0x0F)
    else:
        raise ValueError(f"MessagePack of the kind {first:#x}, which LLVM does not write")
    return _reader(first)(data, at, length)


def _reader(first: int) -> Callable[[bytes, int, int], tuple[Any, int]]:
    if first in _TEXTS or 0xA0 <= first <= 0xBF:
        return _text
    return _map if first in _MAPS or first <= 0x8F else _list


def _number(data: bytes, at: int, form: str) -> tuple[int, int]:
    (value,) = struct.unpack_from(form, data, at)
    return value, at + struct.calcsize(form)


def _text(data: bytes, at: int, length: int) -> tuple[str, int]:
    if at + length > len(data):
        raise ValueError("the metadata ends in the middle of a text")
    return data[at : at + length].decode(), at + length


def _list(data: bytes, at: int, length: int) -> tuple[list[Any], int]:
    values = []
    for _ in range(length):
        value, at = _read(data, at)
        values.append(value)
    return values, at


def _map(data: bytes, at: int, length: int) -> tuple[dict[Any, Any], int]:
    pairs, at = _list(data, at, 2 * length)
    return dict(zip(pairs[::2], pairs[1::2], strict=True)), at
