"""ELF object file reader: its sections, its symbols, and what is to be written where once addresses are known.

Input: the bytes that a code generator emitted. Output: tables of numbers and names. Which names must be found elsewhere
is asked before linking: a linker's own message names the wrong symbol.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from triptych.support.dataclass import dataclass

_ELF64_LITTLE = b"\x7fELF\x02\x01"
_RELOCATABLE = 1
_HEADER_SIZE = 64
_SYMBOL_TABLE = 2
_RELOCATIONS = 4
_NO_BITS = 8
_SYMBOL_SIZE = 24
_RELOCATION_SIZE = 24
_ABSOLUTE = 0xFFF1
ALLOCATED = 2
WRITABLE = 1
EXECUTABLE = 4
THREAD_LOCAL = 0x400


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of the file, and of memory if it is allocated."""

    name: int
    """Where the table of names has it."""
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int

    @property
    def is_zeros(self) -> bool:
        """It takes memory, but none of the file."""
        return self.kind == _NO_BITS


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name and its place."""

    name: str
    section: int
    """Where it is defined; 0 when elsewhere."""
    value: int

    @property
    def is_absolute(self) -> bool:
        return self.section == _ABSOLUTE


@dataclass(frozen=True, slots=True)
class Relocation:
    """The address of a symbol, plus a number, is to be written into a section in the way that `kind` says."""

    section: int
    offset: int
    kind: int
    symbol: int
    addend: int


class ObjectFile:
    """A 64-bit little-endian ELF object file. Damaged ones give `struct.error`, `IndexError` or `ValueError`."""

    def __init__(self, data: bytes) -> None:
        if not is_elf(data):
            raise ValueError("no 64-bit little-endian ELF object file")
        self.data = data
        self.machine: int = struct.unpack_from("<H", data, 18)[0]
        (table,) = struct.unpack_from("<Q", self.data, 0x28)
        size, count = struct.unpack_from("<HH", self.data, 0x3A)
        self.sections = tuple(self._section(start) for start in range(table, table + size * count, size))
        self.symbols = tuple(symbol for section in self._of_kind(_SYMBOL_TABLE) for symbol in self._symbols(section))

    def _section(self, start: int) -> Section:
        name, kind, flags, _, offset, size, link, info, alignment = struct.unpack_from("<IIQQQQIIQ", self.data, start)
        return Section(name, kind, flags, offset, size, link, info, max(alignment, 1))

    def content(self, section: Section) -> bytes:
        found = self.data[section.offset : section.offset + section.size]
        if len(found) != section.size:
            raise ValueError("a section ends behind the end of the file")
        return found

    def name_of(self, section: Section) -> str:
        (names,) = struct.unpack_from("<H", self.data, 0x3E)
        return self._text(self.sections[names], section.name)

    def _symbols(self, table: Section) -> Iterator[Symbol]:
        names = self.sections[table.link]
        for name, _, _, section, value, _ in struct.iter_unpack("<IBBHQQ", self.content(table)):
            yield Symbol(self._text(names, name), section, value)

    @property
    def relocations(self) -> Iterator[Relocation]:
        for table in self._of_kind(_RELOCATIONS):
            for offset, info, addend in struct.iter_unpack("<QQq", self.content(table)):
                yield Relocation(table.info, offset, info & 0xFFFFFFFF, info >> 32, addend)

    def _of_kind(self, kind: int) -> Iterator[Section]:
        return (section for section in self.sections if section.kind == kind)

    def _text(self, names: Section, at: int) -> str:
        begin = names.offset + at
        return self.data[begin : self.data.index(b"\0", begin)].decode()


def is_elf(data: bytes) -> bool:
    """Whether this is an object file that can be read here."""
    return (
        len(data) > _HEADER_SIZE
        and data.startswith(_ELF64_LITTLE)
        and struct.unpack_from("<H", data, 16)[0] == _RELOCATABLE
    )


def undefined_symbols(data: bytes) -> tuple[str, ...]:
    """The names the object file imports; nothing for other formats than 64-bit little-endian ELF."""
    if not is_elf(data):
        return ()
    return tuple(symbol.name for symbol in ObjectFile(data).symbols if symbol.section == 0 and symbol.name)
