"""The CPU target's loader: an object file becomes a function that Python calls through the native call path."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

from triptych.boundary import for_user
from triptych.ir import bindings, loader
from triptych.stages import Compiled, Loaded, Traced
from triptych.targets.cpu.entry_results import PYTHON_FUNCTIONS
from triptych.targets.cpu.ffi_layout import WRITE
from triptych.targets.cpu.python_call import (
    PYTHON_CALL,
    PYTHON_CALL_FUNCTIONS,
    has_python_call,
    python_function,
)
from triptych.targets.cpu.raising import raising_addresses, register_errors
from triptych.targets.cpu.writing import write_address

_CALL_PATH_FUNCTIONS = (
    "TVMFFIObjectCreateOpaque",
    "TVMFFIBigIntFromByteArray",
    "TVMFFIBigIntGetContentByteArray",
)


def load(compiled: Compiled) -> Loaded:
    """Map the code and make its entry point callable. Its errors show only the user's frames."""
    traced, entry = compiled.lowered.traced, compiled.lowered.entry
    prepare(traced)
    if not has_python_call(traced):
        code = loader.load_object(compiled.artifact, entry, {**python_symbols(), **_call_path_symbols()})
        return Loaded(compiled, _through_call_path(code, entry, traced))
    code = loader.load_object(compiled.artifact, PYTHON_CALL, python_symbols(), entry)
    elsewhere = _through_call_path(code, entry, traced)
    return Loaded(compiled, python_function(traced.name, code.address, elsewhere, code))


def _through_call_path(code: loader.LoadedObject, entry: str, traced: Traced) -> Callable[..., Any]:
    """The packed entry point, wrapped at its first call. One that may run long lets other Python threads run."""

    @cache
    def function() -> Any:
        register_errors()
        made = bindings.tvm_ffi().Function.__from_extern_c__(code.library[entry], keep_alive_object=code)
        made.release_gil = traced.loops
        return made

    def call(*args: Any) -> Any:
        try:
            return function()(*args)
        except Exception as error:
            for_user(error)
            raise

    return call


def prepare(traced: Traced) -> None:
    """Import and set up everything that `load` needs: time that can pass while a worker compiles."""
    loader.prepare()
    if not has_python_call(traced):
        register_errors()


@cache
def python_symbols() -> dict[str, int]:
    """What compiled code may import besides the C library: our functions and Python's own."""
    return {
        WRITE: write_address(),
        **raising_addresses(),
        **_addresses(ctypes.pythonapi, PYTHON_FUNCTIONS + PYTHON_CALL_FUNCTIONS),
    }


@cache
def _call_path_symbols() -> dict[str, int]:
    call_path = ctypes.CDLL(bindings.tvm_ffi().libinfo.find_libtvm_ffi())
    return _addresses(call_path, _CALL_PATH_FUNCTIONS)


def _addresses(library: ctypes.CDLL, names: tuple[str, ...]) -> dict[str, int]:
    """Names that this version of the library lacks are left out: only code that uses them then fails, by name."""
    present = [name for name in names if hasattr(library, name)]
    return {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in present}
