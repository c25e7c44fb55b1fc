"""`triptych link-flags`: what a linker is told for a program that uses exported objects."""

from __future__ import annotations

import json
from pathlib import Path

from triptych.cute.runtime.exported_modules import find_runtime_libraries

SYSTEM = ("-pthread", "-lm", "-ldl")
"""The system's libraries that an object with its runtime calls."""


def link_flags(*, tvm_ffi: bool, as_json: bool) -> str:
    """The flags on one line, for `$(triptych link-flags)`. The objects hold their own runtime."""
    flags = list(SYSTEM)
    for library in find_runtime_libraries(enable_tvm_ffi=tvm_ffi):
        flags += [library, f"-Wl,-rpath,{Path(library).parent}"]
    return json.dumps({"flags": flags}) if as_json else " ".join(flags)
