"""Functions that were exported ahead of time, loaded again; and what programs that use them are linked with."""

from __future__ import annotations

import os
from typing import Any

from triptych.driver.boundary import api_boundary
from triptych.ir import bindings
from triptych.support.forking import import_late

_LOADER = "triptych.targets.cpu.export.loaded_modules"
"""Imported by the programs that load something, which most do not."""


@api_boundary
def load_module(file_path: str | os.PathLike[str], *, enable_tvm_ffi: bool = False) -> Any:
    """The functions of an object file or a shared library, as attributes; nothing is compiled.

    With `enable_tvm_ffi` the library that such functions call is loaded first.
    """
    if enable_tvm_ffi:
        bindings.tvm_ffi()
    return import_late(_LOADER).load_exported(file_path)


def find_runtime_libraries(*, enable_tvm_ffi: bool = False) -> list[str]:
    """Shared libraries that exported objects are linked with. Their own runtime is in the objects, so there are none
    but that of TVM FFI."""
    return [str(bindings.tvm_ffi().libinfo.find_libtvm_ffi())] if enable_tvm_ffi else []
