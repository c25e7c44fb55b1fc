"""LLVM IR of the entry that an exported object gives to TVM FFI: `__tvm_ffi_<name>`, by the convention of that library.

It calls the packed entry of the program, which has the same parameters, and tells the library what went wrong. The
library is not in objects for C: what the entry asks it about large integers is answered by `LARGE_INTEGERS` there.
"""

from __future__ import annotations

from triptych.targets.cpu.abi.abi import INT_TAG, entry_symbol
from triptych.targets.cpu.export.c_entry import ENTRY, NO_KEYS, share_function
from triptych.targets.cpu.export.codes import BAD_ARGUMENT
from triptych.targets.cpu.export.native_error_code import text_global


def tvm_ffi_entry(name: str) -> str:
    """The module's text."""
    return f"""
{share_function(name)}{text_global("no_keys", NO_KEYS)}
{text_global("argument_kind", "ValueError")}{text_global("failure_kind", "RuntimeError")}
declare i32 @{ENTRY}(ptr, ptr, i32, ptr)
declare i1 @triptych_native_is_ready()
declare ptr @triptych_native_error_text()
declare i32 @triptych_native_error_code()
declare void @TVMFFIErrorSetRaisedFromCStr(ptr, ptr)

define i32 @{entry_symbol(name)}(ptr %self, ptr %arguments, i32 %count, ptr %result) {{
entry:
  %ready = call i1 @triptych_native_is_ready()
  br i1 %ready, label %run, label %keyless
keyless:
  call void @TVMFFIErrorSetRaisedFromCStr(ptr @failure_kind, ptr @no_keys)
  ret i32 -1
run:
  %status = call i32 @{ENTRY}(ptr null, ptr %arguments, i32 %count, ptr %result)
  %done = icmp eq i32 %status, 0
  br i1 %done, label %leave, label %failed
failed:
  %code = call i32 @triptych_native_error_code()
  %refused = icmp eq i32 %code, {BAD_ARGUMENT}
  %kind = select i1 %refused, ptr @argument_kind, ptr @failure_kind
  %text = call ptr @triptych_native_error_text()
  call void @TVMFFIErrorSetRaisedFromCStr(ptr %kind, ptr %text)
  ret i32 -1
leave:
  ret i32 0
}}
"""


LARGE_INTEGERS = f"""
define {{ ptr, i64 }} @TVMFFIBigIntGetContentByteArray(ptr %packed) {{
  %place = getelementptr i8, ptr %packed, i64 8
  %words = load ptr, ptr %place
  %part = insertvalue {{ ptr, i64 }} poison, ptr %words, 0
  %whole = insertvalue {{ ptr, i64 }} %part, i64 16, 1
  ret {{ ptr, i64 }} %whole
}}
define i32 @TVMFFIBigIntFromByteArray(ptr %bytes, ptr %result) {{
  %words = load ptr, ptr %bytes
  %word = load i64, ptr %words
  %place = getelementptr i8, ptr %result, i64 8
  store i32 {INT_TAG}, ptr %result
  store i64 %word, ptr %place
  ret i32 0
}}
"""
"""Numbers from 2^63 on, as `c_entry` passes and takes them."""
