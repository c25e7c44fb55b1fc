"""Machine code counts of a cubin itself, which is an ELF file: no disassembler is needed.

From architecture 70 on an instruction takes 16 bytes; its lowest 12 bits say which it is.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_INSTRUCTION = 16
_KIND = 0xFFF
_NOP = 0x918
_ELF = b"\x7fELF"
_SECTION_HEADERS = struct.Struct("<40xQ10xHHH")
"""Of the header of a 64-bit ELF file: where section headers begin, how long one is, how many, which has their names."""
_SECTION = struct.Struct("<I20xQQ")
"""Of a section header: where its name is, where its bytes are, how many."""
_TEXT = ".text."


def machine_instructions(cubin: bytes) -> dict[str, int]:
    """The instructions of each function, without the NOPs that pad it."""
    if not cubin.startswith(_ELF):
        return {}  # PTX, which a driver assembles itself
    return {name.removeprefix(_TEXT): _count(code) for name, code in _sections(cubin) if name.startswith(_TEXT)}


def _sections(file: bytes) -> Iterator[tuple[str, bytes]]:
    begin, length, count, names_at = _SECTION_HEADERS.unpack_from(file)
    headers = [_SECTION.unpack_from(file, begin + length * i) for i in range(count)]
    _, names, _ = headers[names_at]
    for name, offset, size in headers:
        text = file[names + name : file.index(b"\0", names + name)].decode()
        yield text, file[offset : offset + size]


def _count(code: bytes) -> int:
    words = (int.from_bytes(code[at : at + 2], "little") for at in range(0, len(code), _INSTRUCTION))
    return sum(word & _KIND != _NOP for word in words)
