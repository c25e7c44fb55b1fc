"""The CPU target's loader: an object file becomes a function that Python calls through the native call path."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

from triptych.driver.boundary import for_user
from triptych.ir import bindings
from triptych.ir.llvm import loader
from triptych.sanitizer.findings import note_launching
from triptych.stages import Compiled, Loaded, Traced
from triptych.support.forking import import_late
from triptych.targets.cpu.abi.abi import CHECK_COLLECT, KERNEL_STOP, LAUNCH
from triptych.targets.cpu.calling.calling_python import CALLING_FUNCTIONS, PYTHON_WRITER, write_text
from triptych.targets.cpu.calling.entry_results import PYTHON_FUNCTIONS
from triptych.targets.cpu.calling.native_types import (
    attempting,
    calling_with_tensors,
    calling_with_views,
    is_read_natively,
    refused,
)
from triptych.targets.cpu.calling.python_call import (
    PYTHON_CALL,
    PYTHON_CALL_FUNCTIONS,
    has_python_call,
    python_function,
)
from triptych.targets.cpu.calling.raising import RAISING
from triptych.targets.cpu.runtime.pool import pool_symbols

_CHECKERS = "triptych.targets.cpu.sanitizer.runtime"
_CALL_PATH_FUNCTIONS = (
    "TVMFFIObjectCreateOpaque",
    "TVMFFIBigIntFromByteArray",
    "TVMFFIBigIntGetContentByteArray",
)


def load(compiled: Compiled) -> Loaded:
    """Map the code and make its entry point callable. Its errors show only the user's frames."""
    traced, entry = compiled.lowered.traced, compiled.lowered.entry
    prepare(traced)
    has_tensors = any(leaf.memory is not None for leaf in traced.parameters)
    if not has_python_call(traced):
        symbols = {**_imports(compiled.artifact), **_call_path_symbols()}
        code = loader.load_object(compiled.artifact, entry, symbols)
        packed = _packed(code, entry, traced)
        call = _through_call_path(packed)
        if not has_tensors:
            return Loaded(compiled, call, packed=packed, address=code.address)
        call = calling_with_tensors(traced.parameters, call)
        return Loaded(compiled, call, attempting(call), is_read_natively, packed, code.address)
    code = loader.load_object(compiled.artifact, PYTHON_CALL, _imports(compiled.artifact), entry)
    packed = _packed(code, entry, traced)
    elsewhere, address = _through_call_path(packed), code.library[entry]
    if not has_tensors:
        function = python_function(traced.name, code.address, elsewhere, code)
        return Loaded(compiled, function, packed=packed, address=address)
    again = calling_with_views(traced.parameters, lambda: function, elsewhere)
    function = python_function(traced.name, code.address, again, code)
    attempt = python_function(traced.name, code.address, refused, code, quiet=True)
    return Loaded(compiled, function, attempt, is_read_natively, packed, address)


def _packed(code: loader.LoadedObject, entry: str, traced: Traced) -> Callable[[], Any]:
    """The packed entry point, wrapped when it is first asked for. One that may run long lets other Python threads
    run."""

    @cache
    def function() -> Any:
        made = bindings.tvm_ffi().Function.__from_extern_c__(code.library[entry], keep_alive_object=code)
        made.release_gil = traced.loops
        return made

    return function


def _through_call_path(function: Callable[[], Any]) -> Callable[..., Any]:
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
        bindings.tvm_ffi()


def _imports(artifact: bytes) -> dict[str, int]:
    """The pool of threads is made only for code that launches, and checkers only for code that asks them."""
    found = {**python_symbols()}
    if LAUNCH.encode() in artifact:
        note_launching()
        found |= pool_symbols(alone=KERNEL_STOP.encode() in artifact)
    if CHECK_COLLECT.encode() in artifact:
        found |= import_late(_CHECKERS).checker_symbols()
    return found


@cache
def python_symbols() -> dict[str, int]:
    """What compiled code may import besides the C library: our functions and Python's own."""
    return {
        PYTHON_WRITER: id(write_text),  # an object's identity is its address
        **{name: id(function) for name, function in RAISING.items()},
        **_addresses(ctypes.pythonapi, PYTHON_FUNCTIONS + PYTHON_CALL_FUNCTIONS + CALLING_FUNCTIONS),
    }


@cache
def _call_path_symbols() -> dict[str, int]:
    call_path = ctypes.CDLL(bindings.tvm_ffi().libinfo.find_libtvm_ffi())
    return _addresses(call_path, _CALL_PATH_FUNCTIONS)


def _addresses(library: ctypes.CDLL, names: tuple[str, ...]) -> dict[str, int]:
    """Names that this version of the library lacks are left out: only code that uses them then fails, by name."""
    present = [name for name in names if hasattr(library, name)]
    return {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in present}
