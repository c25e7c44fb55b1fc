"""Exported modules in a Python process again: object files and shared libraries, with functions as attributes.

An object file is linked here; a shared library is opened as the system does. Which interface a function has is seen by
its symbols: our own structures, whose description is in the file, or TVM FFI.
"""

from __future__ import annotations

import ctypes
import os
import struct
import weakref
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from triptych.diagnostics.runtime_errors import ExportedModuleError, MissingFunctionError
from triptych.driver.boundary import for_user
from triptych.ir import bindings
from triptych.ir.errors import CodegenError
from triptych.ir.llvm.loader import LoadedObject, load_object
from triptych.ir.llvm.object_file import ObjectFile, is_elf
from triptych.support.tracebacks import caller
from triptych.targets.cpu.abi.abi import entry_symbol
from triptych.targets.cpu.export.c_interface import read_metadata
from triptych.targets.cpu.export.codes import ABI_VERSION, OK, share_symbol
from triptych.targets.cpu.export.loaded_functions import ExportedFunction

_KEPT: dict[bytes, LoadedObject] = {}
"""Object files with an entry for TVM FFI stay mapped until the process ends, each once: who else has such a function is
not known here. Others go with the last of their functions."""


class ExportedModule:
    """The functions of a file, as attributes."""

    def __init__(self, path: Path, find: Callable[[str], int]) -> None:
        self._path = path
        self._find = find

    def __repr__(self) -> str:
        return f"<exported module {str(self._path)!r}>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            self.__dict__[name] = self._function(name)
        except Exception as error:
            for_user(error)
            raise
        return self.__dict__[name]

    def _function(self, name: str) -> Any:
        metadata, entry = self._find(f"{name}_triptych_metadata"), self._find(entry_symbol(name))
        if share := self._find(share_symbol(name)):
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(share)(ctypes.addressof(_keys()))
        if metadata:
            return self._with_structures(name, ctypes.string_at(metadata).decode())
        if entry:
            return bindings.tvm_ffi().Function.__from_extern_c__(entry)
        raise MissingFunctionError(
            f"the module has no function {name!r}",
            span=caller(),
            found=self._path.name,
            expected="the name that was given as `function_prefix` or `function_name`",
        )

    def _with_structures(self, name: str, text: str) -> ExportedFunction:
        abi, interface, function = read_metadata(text)
        if abi != ABI_VERSION:
            raise ExportedModuleError(
                f"{name} was exported with another version of the interface",
                span=caller(),
                found=f"version {abi} in {self._path}",
                expected=f"version {ABI_VERSION}",
                instead="export it again with this version of Triptych",
            )
        pointer = ctypes.c_void_p
        error_text = ctypes.CFUNCTYPE(ctypes.c_char_p)(self._find(f"{name}_error_text"))
        load = self._c_function(f"{name}_triptych_load", pointer, ctypes.c_uint32, ctypes.c_uint64)
        call = self._c_function(f"{name}_triptych_call", pointer, pointer, ctypes.c_int32)
        module = (ctypes.c_uint64 * 2)()
        if load(module, ABI_VERSION, interface) != OK:
            text = error_text().decode(errors="replace")
            raise ExportedModuleError(f"{name} cannot be loaded: {text}", span=caller(), found=str(self._path))
        made = ExportedFunction(function, module, call, error_text)
        unload = self._c_function(f"{name}_triptych_unload", pointer)
        # `_find` keeps the code mapped until its threads have ended
        weakref.finalize(made, _unloaded, unload, module, self._find).atexit = False
        return made

    def _c_function(self, symbol: str, *kinds: Any) -> Any:
        return ctypes.CFUNCTYPE(ctypes.c_int32, *kinds)(self._find(symbol))


def _unloaded(unload: Callable[[Any], int], module: Any, find: Callable[[str], int]) -> None:
    unload(module)


@cache
def _keys() -> Any:
    """Keys of threads for all modules of this process, of which it has 1024: launches, memory, errors."""
    kind, names = ctypes.c_uint32, ctypes.CDLL(None)
    made = (kind * 3)()
    for place, ends in enumerate((None, names.free, names.free)):
        destructor = ctypes.cast(ends, ctypes.c_void_p) if ends is not None else None
        if names.pthread_key_create(ctypes.byref(made, place * ctypes.sizeof(kind)), destructor):
            raise ExportedModuleError(
                "the process has no keys of threads left", span=caller(), found="PTHREAD_KEYS_MAX of them in use"
            )
    return made


def load_exported(path: str | os.PathLike[str]) -> ExportedModule:
    """Load a file that `export_to_c` wrote, or a shared library of such files."""
    file = Path(path)
    if not file.is_file():
        raise ExportedModuleError(
            "there is no such file", span=caller(), found=str(file), expected="an exported object or a shared library"
        )
    data = file.read_bytes()
    if is_elf(data):
        return _of_object(file, data)
    try:
        library = ctypes.CDLL(str(file.resolve()), mode=ctypes.RTLD_LOCAL)
    except OSError as error:
        raise ExportedModuleError(
            "the file cannot be loaded",
            span=caller(),
            found=str(error),
            expected="an exported object file, or a shared library made of such files",
        ) from None
    return ExportedModule(file, lambda name: _address(library, name))


def _of_object(file: Path, data: bytes) -> ExportedModule:
    try:
        parsed = ObjectFile(data)
        for section in parsed.sections:
            if not section.is_zeros:
                parsed.content(section)
        defined = {symbol.name for symbol in parsed.symbols if symbol.section and symbol.name}
    except (struct.error, IndexError, ValueError) as error:
        raise ExportedModuleError(
            "the object file is damaged: it has another end than its header says, or was not written whole",
            span=caller(),
            found=f"{len(data)} bytes in {file} ({error})",
            expected="the file as `export_to_c` wrote it",
        ) from None
    wanted = sorted(name for name in defined if "_triptych_" in name or name.endswith("_error_text"))
    entries = sorted(name for name in defined if name.startswith(entry_symbol("")))
    if not wanted and not entries:
        raise ExportedModuleError(
            "the object file was not exported by Triptych",
            span=caller(),
            found=str(file),
            expected="one that `export_to_c` wrote",
        )
    try:
        symbols, names = _call_path_symbols() if entries else {}, (*wanted, *entries)
        code = _KEPT.get(data) or load_object(data, names[0], symbols, *names)
    except CodegenError as error:
        raise ExportedModuleError("the object file cannot be linked", span=caller(), found=error.found) from None
    if entries:
        _KEPT[data] = code
    return ExportedModule(file, lambda name: _symbol(code, name, defined))


def _symbol(code: LoadedObject, name: str, defined: set[str]) -> int:
    return int(code.library[name]) if name in defined else 0


def _address(library: ctypes.CDLL, name: str) -> int:
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 if hasattr(library, name) else 0


def _call_path_symbols() -> dict[str, int]:
    library = ctypes.CDLL(bindings.tvm_ffi().libinfo.find_libtvm_ffi())
    names = ("ErrorSetRaisedFromCStr", "BigIntGetContentByteArray", "BigIntFromByteArray", "EnvGetStream")
    return {f"TVMFFI{name}": _address(library, f"TVMFFI{name}") for name in names}
