"""Linker of code objects: LLVM's relocatable object becomes the shared object that AMD's runtime loads.

Input: one ELF object with kernels. Output: an ELF file with the segments that LLD makes of it: notes, symbols with both
hash tables and read-only data; code; the dynamic table. LLD is 100 MB, and a kernel that calls nothing needs little of
it: four kinds of relocations, no table of addresses, no data that is written. What needs more is refused.

Where a table has a choice (buckets, order of symbols, distances of segments) it is LLD's, so that the bytes are equal.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from triptych.ir.errors import CodegenError
from triptych.ir.llvm.object_file import ALLOCATED, EXECUTABLE, WRITABLE, ObjectFile
from triptych.support.dataclass import dataclass
from triptych.targets.amdgpu.code_object.symbol_tables import SYMBOL_SIZE, DynamicSymbol, SymbolTables

MACHINE = 224
"""EM_AMDGPU."""
_SHARED_OBJECT = 3
_HEADER, _SEGMENT, _SECTION = 64, 56, 64
_PAGE = 0x1000
"""Of the runtime: segments with other rights begin on other pages."""
_BITS, _SYMTAB, _STRTAB, _HASH, _DYNAMIC, _NOTE, _DYNSYM, _GNU_HASH = 1, 2, 3, 5, 6, 7, 11, 0x6FFFFFF6
"""Kinds of sections."""
_LOAD, _DYNAMIC_SEGMENT, _NOTES, _HEADERS, _STACK, _RELRO = 1, 2, 4, 6, 0x6474E551, 0x6474E552
"""Kinds of segments."""
_READ, _CODE, _DATA = 4, 5, 6
"""Rights of segments."""
_SEGMENTS = 8
_GLOBAL = 1
_HIDDEN = (1, 2)
"""Visibilities of symbols that no other file sees."""
_REL32, _REL64, _REL32_LO, _REL32_HI = 4, 5, 10, 11
_CONSTANTS, _TEXT, _TABLE = ".rodata", ".text", ".dynamic"


@dataclass(frozen=True, slots=True)
class _Output:
    """A section of the result."""

    name: str
    kind: int
    data: bytes
    alignment: int
    flags: int = ALLOCATED
    link: str = ""
    info: int = 0
    entry: int = 0
    address: int = 0
    offset: int = 0

    @property
    def end(self) -> int:
        return self.address + len(self.data)

    def at(self, address: int, offset: int) -> _Output:
        return replace(self, address=address, offset=offset)


@dataclass(frozen=True, slots=True)
class _Placement:
    """Where a section of the object went."""

    output: str
    begin: int


def link(data: bytes) -> bytes:
    """The code object of one relocatable object."""
    elf = ObjectFile(data)
    if elf.machine != MACHINE:
        raise CodegenError("no object file for AMD GPUs", found=f"one for the machine {elf.machine}")
    symbols = list(_symbols(elf))
    _check(elf, symbols)
    places: dict[int, _Placement] = {}
    constants = _joined(elf, _CONSTANTS, places, code=False)
    text = _joined(elf, _TEXT, places, code=True)
    exported = [symbol for symbol in symbols if _is_exported(symbol)]
    tables = SymbolTables([symbol.name for symbol in exported])
    sections = _laid_out(elf, tables, len(exported), constants, text)
    at = {section.name: section.address for section in sections}
    numbers = {section.name: number for number, section in enumerate(sections, 1)}
    values = [
        replace(symbol, section=numbers[places[symbol.section].output], value=_address(symbol, places, at))
        for symbol in exported
    ]
    contents = {section.name: bytearray(section.data) for section in sections}
    contents[".dynsym"][:] = tables.symbols(values)
    _relocate(elf, symbols, contents, places, at)
    return _file([replace(s, data=bytes(contents[s.name])) for s in sections], data)


def _symbols(elf: ObjectFile) -> Iterator[DynamicSymbol]:
    for table in elf.sections:
        if table.kind == _SYMTAB:
            for place, entry in enumerate(struct.iter_unpack("<IBBHQQ", elf.content(table))):
                yield DynamicSymbol(elf.symbols[place].name, *entry[1:])


def _is_exported(symbol: DynamicSymbol) -> bool:
    return symbol.info >> 4 == _GLOBAL and symbol.other & 3 not in _HIDDEN


def _check(elf: ObjectFile, symbols: Sequence[DynamicSymbol]) -> None:
    missing = [symbol.name for symbol in symbols if symbol.section == 0 and symbol.name]
    if missing:
        raise CodegenError("kernels call functions that nobody provides on AMD GPUs", found=", ".join(missing))
    written = [
        elf.name_of(section)
        for section in elf.sections
        if section.flags & ALLOCATED and section.flags & WRITABLE and section.size
    ]
    if written:
        raise CodegenError("kernels have variables of their own, which no launch sets", found=", ".join(written))


def _joined(elf: ObjectFile, name: str, places: dict[int, _Placement], *, code: bool) -> _Output:
    """The object's sections of a kind behind one another; `places` learns where each begins."""
    joined, alignment = bytearray(), 1
    for number, section in enumerate(elf.sections):
        wanted = section.flags & ALLOCATED and section.kind != _NOTE and bool(section.flags & EXECUTABLE) == code
        if wanted and (section.size or code):
            joined += bytes(_up(len(joined), section.alignment) - len(joined))
            places[number] = _Placement(name, len(joined))
            joined += elf.content(section)
            alignment = max(alignment, section.alignment)
    return _Output(name, _BITS, bytes(joined), alignment, ALLOCATED | (EXECUTABLE if code else 0))


def _laid_out(elf: ObjectFile, tables: SymbolTables, symbols: int, constants: _Output, text: _Output) -> list[_Output]:
    """The sections at their addresses; values of symbols, and what is relocated, are still missing."""
    notes = b"".join(elf.content(section) for section in elf.sections if section.kind == _NOTE)
    names = tables.strings()
    sections, end = [], _HEADER + _SEGMENTS * _SEGMENT
    for section in (
        _Output(".note", _NOTE, notes, 4),
        _Output(".dynsym", _DYNSYM, bytes(SYMBOL_SIZE * (symbols + 1)), 8, link=".dynstr", info=1, entry=SYMBOL_SIZE),
        _Output(".gnu.hash", _GNU_HASH, tables.gnu_hash(), 8, link=".dynsym"),
        _Output(".hash", _HASH, tables.hash(), 4, link=".dynsym", entry=4),
        _Output(".dynstr", _STRTAB, names, 1),
        constants,
    ):
        begin = _up(end, section.alignment)
        sections.append(section.at(begin, begin))
        end = sections[-1].end
    sections.append(_on_next_page(text, sections[-1]))
    dynamic = _dynamic({section.name: section.address for section in sections}, len(names))
    table = _Output(_TABLE, _DYNAMIC, dynamic, 8, ALLOCATED | WRITABLE, link=".dynstr", entry=16)
    return [*sections, _on_next_page(table, sections[-1])]


def _on_next_page(section: _Output, before: _Output) -> _Output:
    """A section with other rights, in the file right behind the one before it."""
    begin = _up(_up(before.end, _PAGE) + before.end % _PAGE, section.alignment)
    in_file = before.offset + len(before.data)
    return section.at(begin, in_file + (begin - before.end) % _PAGE)


def _dynamic(at: Mapping[str, int], names: int) -> bytes:
    """What a loader looks for first, by the numbers of the ELF standard."""
    symbols = ((6, at[".dynsym"]), (11, SYMBOL_SIZE), (5, at[".dynstr"]), (10, names))
    hashes = ((0x6FFFFEF5, at[".gnu.hash"]), (4, at[".hash"]))
    return b"".join(struct.pack("<QQ", *entry) for entry in (*symbols, *hashes, (0, 0)))


def _address(symbol: DynamicSymbol, places: Mapping[int, _Placement], at: Mapping[str, int]) -> int:
    place = places[symbol.section]
    return at[place.output] + place.begin + symbol.value


def _relocate(
    elf: ObjectFile,
    symbols: Sequence[DynamicSymbol],
    contents: Mapping[str, bytearray],
    places: Mapping[int, _Placement],
    at: Mapping[str, int],
) -> None:
    """Write the distances between places."""
    for relocation in elf.relocations:
        if relocation.section not in places:
            continue
        place = places[relocation.section]
        offset = place.begin + relocation.offset
        symbol = symbols[relocation.symbol]
        if symbol.section not in places:
            raise CodegenError("kernels use a symbol that is in no section of theirs", found=symbol.name)
        distance = _address(symbol, places, at) + relocation.addend - (at[place.output] + offset)
        contents[place.output][offset : offset + 8] = _written(
            relocation.kind, distance, bytes(contents[place.output][offset : offset + 8])
        )


def _written(kind: int, distance: int, old: bytes) -> bytes:
    """Eight bytes with a distance in them, or in the first four."""
    if kind == _REL64:
        return struct.pack("<q", distance)
    if kind in (_REL32, _REL32_LO):
        if kind == _REL32 and not -(1 << 31) <= distance < 1 << 31:
            raise CodegenError("a distance in the code has no room in 32 bits", found=f"{distance} bytes")
        return struct.pack("<I", distance & 0xFFFFFFFF) + old[4:]
    if kind == _REL32_HI:
        return struct.pack("<I", distance >> 32 & 0xFFFFFFFF) + old[4:]
    raise CodegenError("the code has a relocation of a kind that only a whole linker knows", found=f"number {kind}")


# The file -------------------------------------------------------------------------------------------------------------
def _file(sections: Sequence[_Output], source: bytes) -> bytes:
    """Headers, sections, and a table of sections behind them."""
    end = sections[-1].offset + len(sections[-1].data)
    by_name = {section.name: section for section in sections}
    loose = [
        _Output(".symtab", _SYMTAB, by_name[".dynsym"].data, 8, 0, ".strtab", 1, SYMBOL_SIZE),
        _Output(".strtab", _STRTAB, by_name[".dynstr"].data, 1, 0),
        _Output(".shstrtab", _STRTAB, b"", 1, 0),
    ]
    names, offsets = b"\0", {}
    for name in (*by_name, *(section.name for section in loose)):
        offsets[name] = len(names)
        names += name.encode() + b"\0"
    loose[-1] = replace(loose[-1], data=names)
    placed = list(sections)
    for section in loose:
        placed.append(section.at(0, _up(end, section.alignment)))
        end = placed[-1].offset + len(section.data)
    table = _up(end, 8)
    numbers = {section.name: number for number, section in enumerate(placed, 1)}
    rows = bytes(_SECTION) + b"".join(_row(section, offsets[section.name], numbers) for section in placed)
    image = bytearray(table)
    image[: _HEADER + _SEGMENTS * _SEGMENT] = _head(source, table, len(placed) + 1) + _segments(by_name)
    for section in placed:
        image[section.offset : section.offset + len(section.data)] = section.data
    return bytes(image) + rows


def _head(source: bytes, table: int, sections: int) -> bytes:
    """The header of the object, as that of a shared one: system, version of its interface and chip stay."""
    (flags,) = struct.unpack_from("<I", source, 0x30)
    numbers = (_SHARED_OBJECT, MACHINE, 1, 0, _HEADER, table, flags, _HEADER, _SEGMENT, _SEGMENTS, _SECTION)
    return source[:16] + struct.pack("<HHIQQQIHHHHHH", *numbers, sections, sections - 1)


def _row(section: _Output, name: int, numbers: Mapping[str, int]) -> bytes:
    link = numbers[section.link] if section.link else 0
    where = (section.address, section.offset, len(section.data), link, section.info)
    return struct.pack("<IIQQQQIIQQ", name, section.kind, section.flags, *where, section.alignment, section.entry)


def _segments(by_name: Mapping[str, _Output]) -> bytes:
    constants, text, dynamic, note = (by_name[name] for name in (_CONSTANTS, _TEXT, _TABLE, ".note"))
    headers = _SEGMENTS * _SEGMENT
    size = len(dynamic.data)
    page = _up(dynamic.end, _PAGE) - dynamic.address
    rows = (
        (_HEADERS, _READ, _HEADER, _HEADER, headers, headers, 8),
        (_LOAD, _READ, 0, 0, constants.end, constants.end, _PAGE),
        (_LOAD, _CODE, text.offset, text.address, len(text.data), len(text.data), _PAGE),
        (_LOAD, _DATA, dynamic.offset, dynamic.address, size, page, _PAGE),
        (_DYNAMIC_SEGMENT, _DATA, dynamic.offset, dynamic.address, size, size, 8),
        (_RELRO, _READ, dynamic.offset, dynamic.address, size, page, 1),
        (_STACK, _DATA, 0, 0, 0, 0, 0),
        (_NOTES, _READ, note.offset, note.address, len(note.data), len(note.data), 4),
    )
    return b"".join(
        struct.pack("<IIQQQQQQ", kind, rights, offset, address, address, in_file, in_memory, alignment)
        for kind, rights, offset, address, in_file, in_memory, alignment in rows
    )


def _up(number: int, piece: int) -> int:
    return -(-number // piece) * piece
