"""Object file loader: code is mapped into this process, its imports are bound, and its entry is found.

Input: the bytes a worker emitted and the symbols they may import. Output: a `LoadedObject` that keeps the code mapped.
ELF object files are linked here (`linking`), which needs no LLVM; LLVM's JIT linker is for other systems. It is never
asked for what could not be linked here: it ends the process where an address is out of reach.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Mapping
from functools import cache
from typing import Any

from triptych.ir import bindings
from triptych.ir.errors import CodegenError
from triptych.ir.llvm.linking import can_link, link
from triptych.ir.llvm.object_file import undefined_symbols
from triptych.ir.llvm.relocations import NotLinkableError
from triptych.support.dataclass import dataclass
from triptych.support.forking import Brief


@dataclass(frozen=True, slots=True)
class GcPinned:
    """A handle. Its value must not lead back to the handle: nobody would find such a cycle."""

    value: Any

    def __post_init__(self) -> None:
        _untrack(self)


_untrack: Any = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("PyObject_GC_UnTrack", ctypes.pythonapi))

LOADS_OF_A_LINKER = 256
"""LLVM frees the code of a library but never forgets the library itself, 10 KB each. After so many loads there is a new
linker (2 ms), and the old one goes with the last of its libraries."""

_NUMBERS = itertools.count(1)
_LINKING = Brief()


@dataclass(frozen=True, slots=True)
class LoadedObject:
    """Code mapped in this process. It is unmapped when nothing has this object any more, so callers keep it."""

    address: int
    mapped: GcPinned
    """The library and, where LLVM's linker was needed, that: it lives as long as its libraries."""

    @property
    def library(self) -> Any:
        """Addresses by symbol."""
        return self.mapped.value[0]

    @property
    def linker(self) -> Any:
        """LLVM's, or None."""
        return self.mapped.value[1]


def load_object(artifact: bytes, entry: str, symbols: Mapping[str, int], *others: str) -> LoadedObject:
    """Map the object file. Imports come from `symbols` first, then from the libraries of this process.

    `others` are further symbols to find in the library.
    """
    if not can_link():
        return _load_by_llvm(artifact, entry, symbols, *others)
    try:
        image = link(artifact, symbols)
    except NotLinkableError as error:
        raise _link_error(artifact, symbols, str(error)) from None
    return LoadedObject(image[entry], GcPinned((image, None)))


def _load_by_llvm(artifact: bytes, entry: str, symbols: Mapping[str, int], *others: str) -> LoadedObject:
    builder = bindings.llvm().JITLibraryBuilder().add_object_img(artifact).add_current_process()
    for name in (entry, *others):
        builder.export_symbol(name)
    needed = undefined_symbols(artifact) or symbols
    for name, address in symbols.items():
        if name in needed:  # the linker keeps 1 KB for each name, whether it is needed or not
            builder.import_symbol(name, address)
    with _LINKING:
        number = next(_NUMBERS)
        if number % LOADS_OF_A_LINKER == 0:
            _jit_linker.cache_clear()
        linker = _jit_linker()
        try:
            library = builder.link(linker, f"triptych-{number}")
        except RuntimeError as error:
            raise _link_error(artifact, symbols, str(error)) from None
    return LoadedObject(library[entry], GcPinned((library, linker)))


def prepare() -> None:
    """Do what takes long before there is an object file: it can pass while a worker is busy."""
    if not can_link():
        _jit_linker()


@cache
def _jit_linker() -> Any:
    """The process's JIT linker. Making it takes the 70 ms import of llvmlite."""
    llvm = bindings.llvm()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.create_lljit_compiler(suppress_errors=True)


def _link_error(artifact: bytes, symbols: Mapping[str, int], message: str) -> CodegenError:
    llvm = bindings.llvm()
    missing = [
        name
        for name in undefined_symbols(artifact)
        if name not in symbols and llvm.address_of_symbol(name) is None and name != "_GLOBAL_OFFSET_TABLE_"
    ]
    if not missing:
        return CodegenError("the generated object file cannot be loaded", found=message)
    names = ", ".join(missing)
    return CodegenError(
        f"the generated code needs what this process does not have: {names}",
        found=f"undefined {names}",
        expected="only functions of the C library, of libm and of the runtime",
    )
