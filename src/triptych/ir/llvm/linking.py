"""ELF linker: an object file in this process without LLVM, for a program from the store to be called.

Input: an object file and the addresses of what it imports. Output: an `Image`: its sections in memory of their own,
with every address written in, as the `relocations` of the machine say. Code generated for this process has a large code
model, with addresses of 64 bits; exported code, and calls on AArch64, have short distances: what is far away gets a
cell in the image, with its address and a jump there. Anything else is `NotLinkableError`.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import struct
import sys
import weakref
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from triptych.ir.llvm.object_file import (
    ALLOCATED,
    EXECUTABLE,
    THREAD_LOCAL,
    WRITABLE,
    ObjectFile,
    Relocation,
    Section,
    Symbol,
)
from triptych.ir.llvm.relocations import MACHINES, Kind, Machine, NotLinkableError, Reach

_CELL, _ADDRESS = 16, 8
"""Bytes of a cell, and of the address at its beginning; the rest is a jump there."""
_READ, _WRITE, _EXECUTE = 1, 2, 4
_UNWIND = ".eh_frame"
_UNWIND_END = bytes(4)


class Image:
    """Code and data of one object file in memory. It is unmapped when the last reference is gone."""

    __slots__ = ("__weakref__", "_addresses", "_close")

    def __init__(self, addresses: Mapping[str, int], close: Any) -> None:
        self._addresses = addresses
        self._close = weakref.finalize(self, close)
        self._close.atexit = False  # threads may still be inside when the interpreter ends

    def __getitem__(self, name: str) -> int:
        return self._addresses[name]


def can_link() -> bool:
    """Whether object files for this process can be linked here."""
    return sys.platform == "linux" and platform.machine() in MACHINES


def link(data: bytes, symbols: Mapping[str, int]) -> Image:
    """Map an object file. Imports come from `symbols` first, then from the libraries of this process."""
    if not can_link():
        raise NotLinkableError(f"{sys.platform} on {platform.machine()}")
    try:
        return Linking(ObjectFile(data), symbols, MACHINES[platform.machine()]).image()
    except (struct.error, IndexError, ValueError) as error:
        raise NotLinkableError(f"not an object file that can be read: {error}") from None


class Linking:
    """The sections of one object file, placed by the rights that their pages get."""

    def __init__(self, file: ObjectFile, symbols: Mapping[str, int], machine: Machine) -> None:
        if file.machine != machine.number:
            raise NotLinkableError(f"code for machine {file.machine}")
        self._file = file
        self._given = symbols
        self._machine = machine
        self._offsets: dict[int, int] = {}
        self._unwind: list[int] = []
        self._parts: list[tuple[int, int, int]] = []
        """First byte, length and rights of each group of pages."""
        self._relocations = tuple(r for r in file.relocations if file.sections[r.section].flags & ALLOCATED)
        self._cells = {
            number: place for place, number in enumerate(sorted(set(map(self._cell, self._relocations)) - {0}))
        }
        self._place()
        self._bytes = bytearray(max(self._size, mmap.PAGESIZE))
        for number, offset in self._offsets.items():
            section = file.sections[number]
            if not section.is_zeros:
                self._bytes[offset : offset + section.size] = file.content(section)

    def _kind(self, relocation: Relocation) -> Kind:
        kind = self._machine.kinds.get(relocation.kind)
        if kind is None:
            name = self._file.symbols[relocation.symbol].name
            raise NotLinkableError(f"a relocation of kind {relocation.kind}, of {name or 'a section'}")
        return kind

    def _cell(self, relocation: Relocation) -> int:
        """The symbol that the place to be written reaches through a cell, or 0."""
        reach = self._kind(relocation).reach
        is_elsewhere = not self._file.symbols[relocation.symbol].section
        through = reach is Reach.CELL or (reach is Reach.CODE and is_elsewhere)
        if through and relocation.addend and not self._machine.counts_from_end:
            raise NotLinkableError(f"a relocation of kind {relocation.kind} to a place beside a symbol")
        return relocation.symbol if through else 0

    def _place(self) -> None:
        at = _CELL * len(self._cells)
        for rights in (EXECUTABLE, 0, WRITABLE):
            begin = at if rights != EXECUTABLE else 0
            for number, section in enumerate(self._file.sections):
                if section.flags & ALLOCATED and section.flags & (EXECUTABLE | WRITABLE) == rights and section.size:
                    at = self._place_section(number, section, at)
            at = -(-at // mmap.PAGESIZE) * mmap.PAGESIZE
            if at > begin:
                self._parts.append((begin, at - begin, rights))
        self._size = at

    def _place_section(self, number: int, section: Section, at: int) -> int:
        if section.flags & THREAD_LOCAL or section.alignment > mmap.PAGESIZE:
            raise NotLinkableError("thread-local data, or more alignment than a page has")
        at = -(-at // section.alignment) * section.alignment
        self._offsets[number] = at
        if self._file.name_of(section) == _UNWIND:
            self._unwind.append(at)
            return at + section.size + len(_UNWIND_END)
        return at + section.size

    def image(self) -> Image:
        base = _map(len(self._bytes))
        try:
            addresses = self.addresses(base)
            ctypes.memmove(base, self.content(addresses, base), len(self._bytes))
            if self._machine.clears_cache:
                _clear_cache(base, len(self._bytes))
            for offset, size, rights in self._parts:
                _protect(base + offset, size, _READ | (_EXECUTE if rights == EXECUTABLE else _WRITE if rights else 0))
        except BaseException:
            _unmap(base, len(self._bytes), ())
            raise
        unwind = tuple(base + offset for offset in self._unwind)
        _register_frames(unwind)
        size = len(self._bytes)
        defined = {
            symbol.name: address
            for symbol, address in zip(self._file.symbols, addresses, strict=True)
            if symbol.name and symbol.section
        }
        return Image(defined, lambda: _unmap(base, size, unwind))

    def addresses(self, base: int) -> list[int]:
        """Where each symbol is once the image is at `base`."""
        return [self._address(symbol, base) for symbol in self._file.symbols]

    def _address(self, symbol: Symbol, base: int) -> int:
        if symbol.is_absolute:
            return symbol.value
        if symbol.section:
            return self.address_of(symbol.section, base) + symbol.value
        if symbol.name in self._given:
            return self._given[symbol.name]
        return _process_symbol(symbol.name) if symbol.name else 0

    def address_of(self, section: int, base: int) -> int:
        """Where a section is; what is not in memory has no address that anything asks for."""
        return base + self._offsets.get(section, 0)

    def content(self, addresses: Sequence[int], base: int) -> bytes:
        """The bytes of the image at `base`."""
        jump = self._machine.jump
        for number, place in self._cells.items():
            struct.pack_into(f"<Q{len(jump)}s", self._bytes, _CELL * place, addresses[number], jump)
        for relocation in self._relocations:
            if relocation.section in self._offsets:
                self._relocate(relocation, addresses, base)
        return bytes(self._bytes)

    def _relocate(self, relocation: Relocation, addresses: Sequence[int], base: int) -> None:
        kind = self._kind(relocation)
        if relocation.offset + kind.size > self._file.sections[relocation.section].size:
            raise NotLinkableError("a relocation outside of its section")
        at = self._offsets[relocation.section] + relocation.offset
        target = self._reached(relocation, kind, addresses, base) + relocation.addend
        word = kind.write(int.from_bytes(self._bytes[at : at + kind.size], "little"), target, base + at)
        self._bytes[at : at + kind.size] = word.to_bytes(kind.size, "little")

    def _reached(self, relocation: Relocation, kind: Kind, addresses: Sequence[int], base: int) -> int:
        """The address of the symbol, of its cell, or of the jump in the cell."""
        if kind.reach is Reach.SYMBOL or not self._cell(relocation):
            return addresses[relocation.symbol]
        cell = base + _CELL * self._cells[relocation.symbol]
        return cell if kind.reach is Reach.CELL else cell + _ADDRESS


@cache
def _process() -> Any:
    process = ctypes.CDLL(None)
    process.mmap.restype = ctypes.c_void_p
    process.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_int64]
    process.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    process.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return process


def _process_symbol(name: str) -> int:
    try:
        found = ctypes.cast(getattr(_process(), name), ctypes.c_void_p).value
    except AttributeError:
        raise NotLinkableError(f"undefined {name}") from None
    return found or 0


def _map(size: int) -> int:
    address = _process().mmap(None, size, _READ | _WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        raise MemoryError(f"no {size} bytes for code")
    return int(address)


def _protect(address: int, size: int, rights: int) -> None:
    if _process().mprotect(address, size, rights):
        raise NotLinkableError("the system does not let memory become code")


def _clear_cache(address: int, size: int) -> None:
    """Processors that keep instructions in a cache of their own do not see what was written there as data."""
    library = _compiler_runtime()
    if library is None or not hasattr(library, "__clear_cache"):
        raise NotLinkableError("no libgcc_s with `__clear_cache`")
    library.__clear_cache(ctypes.c_void_p(address), ctypes.c_void_p(address + size))


def _unmap(address: int, size: int, unwind: tuple[int, ...]) -> None:
    frames = _compiler_runtime()
    for section in unwind:
        if frames is not None:
            frames.__deregister_frame(ctypes.c_void_p(section))
    _process().munmap(address, size)


def _register_frames(unwind: tuple[int, ...]) -> None:
    """Let debuggers and threads that end inside our code find their way up the stack."""
    frames = _compiler_runtime()
    for section in unwind:
        if frames is not None:
            frames.__register_frame(ctypes.c_void_p(section))


@cache
def _compiler_runtime() -> Any:
    try:
        return ctypes.CDLL("libgcc_s.so.1")
    except OSError:
        return None
