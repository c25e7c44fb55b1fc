"""Linking an ELF object file into this process without LLVM: what a program from the store needs to be called.

Input: an object file and the addresses of what it imports. Output: an `Image`: its sections in memory of their own,
with every address written in. Code generated for this process has a large code model, so addresses have 64 bits and two
kinds of relocation are enough. Exported code has distances of 32 bits: what is far away gets a cell in the image, with
its address and a jump there. Anything else is `NotLinkableError`, and LLVM's linker is asked.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import struct
import sys
import weakref
from collections.abc import Mapping
from functools import cache
from typing import Any

from triptych.ir.object_file import (
    ALLOCATED,
    EXECUTABLE,
    THREAD_LOCAL,
    WRITABLE,
    ObjectFile,
    Relocation,
    Section,
    Symbol,
)

_MACHINES = {"x86_64": 62}
"""The machines whose relocations are known, as ELF numbers them."""
_ABSOLUTE_64, _RELATIVE_64 = 1, 24
_NEAR, _NEAR_CALL = 2, 4
_NEAR_CELLS = frozenset({9, 41, 42})
"""Distances to a place that holds the address, in 32 bits."""
_CELL = 16
_JUMP = bytes.fromhex("ff25f2ffffff")
"""To the address that stands in the eight bytes before it."""
_READ, _WRITE, _EXECUTE = 1, 2, 4
_UNWIND = ".eh_frame"
_UNWIND_END = bytes(4)


class NotLinkableError(Exception):
    """This object file, or this machine, needs more than is done here."""


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
    return sys.platform == "linux" and platform.machine() in _MACHINES


def link(data: bytes, symbols: Mapping[str, int]) -> Image:
    """Map an object file. Imports come from `symbols` first, then from the libraries of this process."""
    if not can_link():
        raise NotLinkableError(f"{sys.platform} on {platform.machine()}")
    try:
        return _Linking(ObjectFile(data), symbols).image()
    except (struct.error, IndexError, ValueError) as error:
        raise NotLinkableError(f"not an object file that can be read: {error}") from None


class _Linking:
    """The sections of one object file, placed by the rights that their pages get."""

    def __init__(self, file: ObjectFile, symbols: Mapping[str, int]) -> None:
        if file.machine != _MACHINES[platform.machine()]:
            raise NotLinkableError(f"code for machine {file.machine}")
        self._file = file
        self._given = symbols
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

    def _cell(self, relocation: Relocation) -> int:
        """The symbol that the place to be written reaches through a cell, or 0."""
        is_elsewhere = not self._file.symbols[relocation.symbol].section
        through = relocation.kind in _NEAR_CELLS or (relocation.kind in (_NEAR, _NEAR_CALL) and is_elsewhere)
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
            addresses = [self._address(symbol, base) for symbol in self._file.symbols]
            self._relocate(addresses, base)
            ctypes.memmove(base, bytes(self._bytes), len(self._bytes))
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

    def _address(self, symbol: Symbol, base: int) -> int:
        if symbol.is_absolute:
            return symbol.value
        if symbol.section:
            return base + self._offsets.get(symbol.section, 0) + symbol.value
        if symbol.name in self._given:
            return self._given[symbol.name]
        return _process_symbol(symbol.name) if symbol.name else 0

    def _relocate(self, addresses: list[int], base: int) -> None:
        for number, place in self._cells.items():
            struct.pack_into("<Q6s", self._bytes, _CELL * place, addresses[number], _JUMP)
        for relocation in self._relocations:
            if relocation.section not in self._offsets:
                continue
            width = 8 if relocation.kind in (_ABSOLUTE_64, _RELATIVE_64) else 4
            if relocation.offset + width > self._file.sections[relocation.section].size:
                raise NotLinkableError("a relocation outside of its section")
            at = self._offsets[relocation.section] + relocation.offset
            value = self._reached(relocation, addresses, base) + relocation.addend
            if relocation.kind != _ABSOLUTE_64:
                value -= base + at
            if width == 8:
                struct.pack_into("<Q", self._bytes, at, value & 0xFFFFFFFFFFFFFFFF)
            else:
                struct.pack_into("<i", self._bytes, at, value)

    def _reached(self, relocation: Relocation, addresses: list[int], base: int) -> int:
        """The address of the symbol, or of its cell."""
        cell = base + _CELL * self._cells.get(relocation.symbol, 0)
        if relocation.kind in _NEAR_CELLS:
            return cell
        if relocation.kind in (_NEAR, _NEAR_CALL) and self._cell(relocation):
            return cell + 8
        if relocation.kind not in (_ABSOLUTE_64, _RELATIVE_64, _NEAR, _NEAR_CALL):
            raise NotLinkableError(f"a relocation of kind {relocation.kind}")
        return addresses[relocation.symbol]


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


def _unmap(address: int, size: int, unwind: tuple[int, ...]) -> None:
    frames = _unwinder()
    for section in unwind:
        if frames is not None:
            frames.__deregister_frame(ctypes.c_void_p(section))
    _process().munmap(address, size)


def _register_frames(unwind: tuple[int, ...]) -> None:
    """Let debuggers and threads that end inside our code find their way up the stack."""
    frames = _unwinder()
    for section in unwind:
        if frames is not None:
            frames.__register_frame(ctypes.c_void_p(section))


@cache
def _unwinder() -> Any:
    try:
        return ctypes.CDLL("libgcc_s.so.1")
    except OSError:
        return None
