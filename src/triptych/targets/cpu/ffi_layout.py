"""The binary interface of compiled code: what a packed value looks like and which functions Python gives it.

A packed value is `{i32 type tag, i32 padding, 64-bit payload}`. Compiled code reads an array of them and writes one.
What happens rarely (refusing arguments, raising, printing) is done by Python functions that it imports: as compiled
code it would take LLVM five times as long as a small function itself.
"""

from __future__ import annotations

ANY = "!llvm.struct<(i32, i32, i64)>"

NONE_TAG = 0
INT_TAG = 1
BOOL_TAG = 2
FLOAT_TAG = 3
PYTHON_OBJECT_TAG = 74
BIG_INT_TAG = 78
"""An int beyond 64 signed bits arrives, and leaves, as an object that holds its words."""

WRITE = "triptych_write"
REFUSE = "triptych_refuse"
REFUSE_COUNT = "triptych_refuse_count"
FAIL = "triptych_fail"
TAKE_ERROR = "triptych_take_error"
"""Gives the exception that one of the others has made, to code that raises it by itself."""

WRITE_DECLARATION = f"llvm.func @{WRITE}(!llvm.ptr, i64)\n"
"""Text and its length, to standard output."""
REFUSE_DECLARATION = f"llvm.func @{REFUSE}(!llvm.ptr, !llvm.ptr, !llvm.ptr)\n"
"""A packed value, the name of the type it should have, and the path of its parameter."""
REFUSE_COUNT_DECLARATION = f"llvm.func @{REFUSE_COUNT}(i32, i32, !llvm.ptr)\n"
"""Arguments given, arguments wanted, and the name of the function."""
FAIL_DECLARATION = f"llvm.func @{FAIL}(!llvm.ptr, !llvm.ptr)\n"
"""The name of an error class and its text."""


def entry_symbol(name: str) -> str:
    """The exported symbol of a function, by the convention of the call path."""
    return f"__tvm_ffi_{name}"
