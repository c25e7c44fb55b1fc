"""LLVM IR of the entry that an exported object gives to other parts of a library: packed values in, a status out.

The caller passes what the packed entry of the program takes, and is told `UNFIT` of tensors that the program was not
compiled for, so that it can try another one. What else goes wrong has a text.
"""

from __future__ import annotations

from typing import NamedTuple

from triptych.targets.cpu.abi.abi import QUIET
from triptych.targets.cpu.export.c_entry import ENTRY, NO_KEYS
from triptych.targets.cpu.export.c_interface import FAILED
from triptych.targets.cpu.export.llvm_lines import LlvmLines, declarations
from triptych.targets.cpu.export.tvm_ffi_entry import LARGE_INTEGERS
from triptych.targets.cpu.runtime.pool_fault_code import text_global


class PackedEntry(NamedTuple):
    """Modules to be linked with the program, and what others see."""

    modules: tuple[str, ...]
    exports: tuple[str, ...]


def error_text_symbol(name: str) -> str:
    """The function that gives the text of the last failure in this thread."""
    return f"{name}_error_text"


def packed_entry(name: str) -> PackedEntry:
    """Of an exported function."""
    functions = {
        ENTRY: "i32(ptr, ptr, i32, ptr)",
        "triptych_native_is_ready": "i1()",
        "triptych_native_error_text": "ptr()",
        "triptych_native_fail": "i32(i32, ptr)",
    }
    call, text = LlvmLines(), LlvmLines()
    call.go_on_if(call.set("call i1 @triptych_native_is_ready()"), "keyless")
    quiet = f"ptr inttoptr (i64 {QUIET} to ptr)"
    call.leave(f"i32 {call.set(f'call i32 @{ENTRY}({quiet}, ptr %arguments, i32 %count, ptr %result)')}")
    call.begin("keyless")
    call.leave(f"i32 {call.set(f'call i32 @triptych_native_fail(i32 {FAILED}, ptr @no_keys)')}")
    text.leave(f"ptr {text.set('call ptr @triptych_native_error_text()')}")
    entry = call.function(f"i32 @{name}(ptr %arguments, i32 %count, ptr %result)")
    module = "".join(
        [
            text_global("no_keys", NO_KEYS),
            declarations(functions),
            entry,
            text.function(f"ptr @{error_text_symbol(name)}()"),
        ]
    )
    return PackedEntry((module, LARGE_INTEGERS), (name, error_text_symbol(name)))
