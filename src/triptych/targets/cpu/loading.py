"""The CPU target's loader: an object file becomes a function that Python calls through the native call path."""

from __future__ import annotations

import ctypes
from functools import cache

from triptych.ir import bindings, loader
from triptych.stages import Compiled, Loaded
from triptych.targets.cpu.entry_results import PYTHON_FUNCTIONS
from triptych.targets.cpu.ffi_layout import WRITE
from triptych.targets.cpu.raising import raising_addresses, register_errors
from triptych.targets.cpu.writing import write_address

_CALL_PATH_FUNCTIONS = (
    "TVMFFIObjectCreateOpaque",
    "TVMFFIBigIntFromByteArray",
    "TVMFFIBigIntGetContentByteArray",
)


def load(compiled: Compiled) -> Loaded:
    """Map the code and wrap its entry point. A function that may run long lets other Python threads run."""
    prepare()
    code = loader.load_object(compiled.artifact, compiled.lowered.entry, _symbols())
    call = bindings.tvm_ffi().Function.__from_extern_c__(code.address, keep_alive_object=code)
    call.release_gil = compiled.lowered.traced.loops
    return Loaded(compiled, call)


@cache
def prepare() -> None:
    """Import and set up everything that `load` needs: 280 ms that can pass while a worker compiles."""
    _symbols()
    loader.prepare()
    register_errors()


@cache
def _symbols() -> dict[str, int]:
    """What compiled code may import besides the C library: our functions, the call path, Python itself."""
    call_path = ctypes.CDLL(bindings.tvm_ffi().libinfo.find_libtvm_ffi())
    return {
        WRITE: write_address(),
        **raising_addresses(),
        **_addresses(call_path, _CALL_PATH_FUNCTIONS),
        **_addresses(ctypes.pythonapi, PYTHON_FUNCTIONS),
    }


def _addresses(library: ctypes.CDLL, names: tuple[str, ...]) -> dict[str, int]:
    """Names that this version of the library lacks are left out: only code that uses them then fails, by name."""
    present = [name for name in names if hasattr(library, name)]
    return {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in present}
