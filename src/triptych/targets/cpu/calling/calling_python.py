"""Callbacks into Python from compiled code, through Python's own C API: an exception stays set in this thread.

Compiled code that fails calls one of the functions of `raising`, which gives the exception to raise. An interrupt may
come instead, anywhere in Python: either way the thread's exception is set, and compiled code only has to return. A
callback of ctypes would print the interrupt and go on.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from triptych.ir.modules import text_constant

FAILURE = -2
"""The status of a call that has raised; the call path, too, takes it as an exception that is set already."""
RAISE = "triptych.raise"
WRITE = "triptych.write"
PYTHON_WRITER = "triptych_python_writer"

CALLING_FUNCTIONS = (
    *("PyGILState_Ensure", "PyGILState_Release", "PyObject_CallFunction", "PyObject_CallOneArg", "PyObject_Type"),
    *("PyErr_SetObject", "PyErr_CheckSignals", "PyUnicode_DecodeUTF8", "Py_DecRef"),
)

LOCKING_TEXT = """
llvm.func @PyGILState_Ensure() -> i32
llvm.func @PyGILState_Release(i32)
llvm.func @Py_DecRef(!llvm.ptr)
"""

RAISE_TEXT = f"""
{LOCKING_TEXT}
llvm.func @PyObject_CallFunction(!llvm.ptr, !llvm.ptr, ...) -> !llvm.ptr
llvm.func @PyObject_Type(!llvm.ptr) -> !llvm.ptr
llvm.func @PyErr_SetObject(!llvm.ptr, !llvm.ptr)
llvm.func internal @{RAISE}(%function: !llvm.ptr, %format: !llvm.ptr, %first: i64, %second: i64, %third: i64)
    attributes {{passthrough = ["noinline", "optnone", "cold"]}} {{
  %null = llvm.mlir.zero : !llvm.ptr
  %lock = llvm.call @PyGILState_Ensure() : () -> i32
  %error = llvm.call @PyObject_CallFunction(%function, %format, %first, %second, %third)
    vararg(!llvm.func<ptr (ptr, ptr, ...)>) : (!llvm.ptr, !llvm.ptr, i64, i64, i64) -> !llvm.ptr
  %interrupted = llvm.icmp "eq" %error, %null : !llvm.ptr
  llvm.cond_br %interrupted, ^leave, ^raise
^raise:
  %kind = llvm.call @PyObject_Type(%error) : (!llvm.ptr) -> !llvm.ptr
  llvm.call @PyErr_SetObject(%kind, %error) : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.call @Py_DecRef(%kind) : (!llvm.ptr) -> ()
  llvm.call @Py_DecRef(%error) : (!llvm.ptr) -> ()
  llvm.br ^leave
^leave:
  llvm.call @PyGILState_Release(%lock) : (i32) -> ()
  llvm.return
}}
"""
"""Raises what a Python function gives for at most three arguments, which C's format describes."""

WRITE_TEXT = f"""
{LOCKING_TEXT}
llvm.func @PyUnicode_DecodeUTF8(!llvm.ptr, i64, !llvm.ptr) -> !llvm.ptr
llvm.func @PyObject_CallOneArg(!llvm.ptr, !llvm.ptr) -> !llvm.ptr
llvm.mlir.global external @{PYTHON_WRITER}() : i8
{text_constant(f"{WRITE}.errors", "replace")}
llvm.func internal @{WRITE}(%data: !llvm.ptr, %size: i64) -> i32
    attributes {{passthrough = ["noinline", "cold"]}} {{
  %null = llvm.mlir.zero : !llvm.ptr
  %zero = llvm.mlir.constant(0 : i32) : i32
  %failure = llvm.mlir.constant({FAILURE} : i32) : i32
  %writer = llvm.mlir.addressof @{PYTHON_WRITER} : !llvm.ptr
  %errors = llvm.mlir.addressof @{WRITE}.errors : !llvm.ptr
  %lock = llvm.call @PyGILState_Ensure() : () -> i32
  %text = llvm.call @PyUnicode_DecodeUTF8(%data, %size, %errors) : (!llvm.ptr, i64, !llvm.ptr) -> !llvm.ptr
  %written = llvm.call @PyObject_CallOneArg(%writer, %text) : (!llvm.ptr, !llvm.ptr) -> !llvm.ptr
  llvm.call @Py_DecRef(%text) : (!llvm.ptr) -> ()
  llvm.call @Py_DecRef(%written) : (!llvm.ptr) -> ()
  llvm.call @PyGILState_Release(%lock) : (i32) -> ()
  %raised = llvm.icmp "eq" %written, %null : !llvm.ptr
  %status = llvm.select %raised, %failure, %zero : i1, i32
  llvm.return %status : i32
}}
"""
"""Text and its length to Python's standard output; a status that is not zero when that raises."""


def raising_function(function: str, formats: str) -> str:
    """MLIR text of what a call that raises through a Python function refers to. Formats are those of C."""
    return f"llvm.mlir.global external @{function}() : i8\n" + text_constant(f"{function}.format", formats)


def raising_call(function: str, arguments: Sequence[str]) -> str:
    """MLIR text of the call; the arguments are of type i64, or pointers whose names are followed by `*`."""
    lines = [
        f"  %callee_{function} = llvm.mlir.addressof @{function} : !llvm.ptr",
        f"  %format_{function} = llvm.mlir.addressof @{function}.format : !llvm.ptr",
    ]
    for i in range(3):
        given = arguments[i] if i < len(arguments) else ""
        name = f"%given{i}_{function}"
        if given.endswith("*"):
            lines.append(f"  {name} = llvm.ptrtoint {given[:-1]} : !llvm.ptr to i64")
        elif given:
            lines.append(f"  {name} = llvm.bitcast {given} : i64 to i64")
        else:
            lines.append(f"  {name} = llvm.mlir.constant(0 : i64) : i64")
    passed = ", ".join(f"%given{i}_{function}" for i in range(3))
    lines.append(
        f"  llvm.call @{RAISE}(%callee_{function}, %format_{function}, {passed})"
        " : (!llvm.ptr, !llvm.ptr, i64, i64, i64) -> ()"
    )
    return "\n".join(lines)


# Print function of compiled code, which writes to Python's current `sys.stdout`.


def write_text(text: str) -> None:
    """Looked up at every call: redirection replaces `sys.stdout`, and it is None in programs without a console."""
    if sys.stdout is not None:
        sys.stdout.write(text)
