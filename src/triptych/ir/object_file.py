"""Reading the symbol table of an ELF object file: which names must be found elsewhere before it can run.

The JIT linker is given these and no others, and what is missing is named by them: its own message names the wrong
symbol.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_ELF64_LITTLE = b"\x7fELF\x02\x01"
_SYMBOL_TABLE = 2
_SYMBOL_SIZE = 24


def undefined_symbols(data: bytes) -> tuple[str, ...]:
    """The names the object file imports; nothing for other formats than 64-bit little-endian ELF."""
    if not data.startswith(_ELF64_LITTLE):
        return ()
    sections = list(_sections(data))
    return tuple(
        name
        for kind, offset, size, link in sections
        if kind == _SYMBOL_TABLE
        for name in _undefined(data, offset, size, names_at=sections[link][1])
    )


def _sections(data: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Type, offset, size and linked section of each section header."""
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    for start in range(table, table + size * count, size):
        _, kind, _, _, offset, length, link = struct.unpack_from("<IIQQQQI", data, start)
        yield kind, offset, length, link


def _undefined(data: bytes, offset: int, size: int, names_at: int) -> Iterator[str]:
    for start in range(offset, offset + size, _SYMBOL_SIZE):
        name, _, _, section = struct.unpack_from("<IBBH", data, start)
        if section == 0 and name != 0:
            begin = names_at + name
            yield data[begin : data.index(b"\0", begin)].decode()
